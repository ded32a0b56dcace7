"""Decay studies: in a fake world, and on a real server that slows down on purpose."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.audit.decay import decay_page, series_of
from deadheat.audit.replay import load_replay
from deadheat.campaign.alone import Alone
from deadheat.campaign.entry import enter_made
from deadheat.campaign.run import RunContext, open_run
from deadheat.events import silent
from deadheat.host import Usage
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.measure.world import World
from deadheat.protocol import AloneProtocol
from deadheat.store import Store
from tests.campaign.fake_world import FakeWorld, greet
from tests.campaign.made_protocols import alone
from tests.servers.contenders import contender


def decay(**recovery: Any) -> AloneProtocol:
    return alone(
        connections=[10],
        stopping={"kind": "fixed", "repetitions": 4},
        recovery={"watch_s": 20.0, "probe_s": 0.1, "limit_s": 40.0, **recovery},
    )


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, steady=1000, weak=1000)


def of_kind(fake: FakeWorld, name: str, kind: str) -> list[dict[str, Any]]:
    return [row for row in fake.trials() if row["name"] == name and row["kind"] == kind]


def results(fake: FakeWorld, name: str) -> list[dict[str, Any]]:
    return [json.loads(row["result"]) for row in of_kind(fake, name, "recovery")]


def test_idle_server_recovers_immediately(fake: FakeWorld) -> None:
    fake.noise = 0
    fake.conduct(decay())
    assert len(of_kind(fake, "steady", "measure")) == 4
    assert [row["recovered_after_s"] for row in results(fake, "steady")] == [1.0] * 4
    assert [row["burnt_for_s"] for row in results(fake, "steady")] == [0] * 4
    assert fake.rows("SELECT count(*) AS n FROM instance") == [{"n": 2}]  # one process each


def test_missing_recovery_ends_the_series_but_not_the_run(fake: FakeWorld) -> None:
    """As on Landshark's page: 3674, 3203, 477, 5 and 0 requests/s without a restart."""
    fake.noise = 0

    def fade(_: int) -> None:
        trials = sum(name == "weak" for name, _ in fake.loads)
        fake.rates["weak"] = 1000 if trials < 3 else 10

    fake.before_load = fade
    fake.conduct(decay())
    assert len(of_kind(fake, "weak", "measure")) == 2
    assert [row["state"] for row in of_kind(fake, "weak", "recovery")] == ["ok", "failed"]
    assert results(fake, "weak")[1]["recovered_after_s"] is None
    assert len(of_kind(fake, "steady", "measure")) == 4
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]
    assert any(
        "weak ends its series after trial 2: it did not reach 90 %" in trouble
        for trouble in fake.troubles()
    )
    assert fake.left_running() == []


def test_watches_cpu_time_until_the_server_is_idle(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def usage(host: FakeHost, process: str) -> Usage:
        """Half a CPU during the first ten seconds of the clock."""
        return Usage(min(host.now_s(), 10.0) / 2, 1 << 20, 1 << 20, 1, 1)

    monkeypatch.setattr(FakeHost, "usage", usage)
    fake.noise = 0
    fake.conduct(decay())
    first, *later = results(fake, "steady") + results(fake, "weak")
    first = max([first, *later], key=lambda row: row["burnt_for_s"])
    assert first["burnt_for_s"] == pytest.approx(10, abs=1)
    assert first["cpu_burnt_s"] == pytest.approx(5, abs=1)
    assert first["idle"]


@pytest.fixture
def busy(fake: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> FakeWorld:
    """Its servers use a whole CPU all the time."""
    always = lambda host, process: Usage(host.now_s(), 1 << 20, 1 << 20, 1, 1)  # noqa: E731
    monkeypatch.setattr(FakeHost, "usage", always)
    fake.noise = 0
    return fake


def test_watch_has_a_time_limit(busy: FakeWorld) -> None:
    busy.conduct(decay())
    assert {row["idle"] for row in results(busy, "steady")} == {False}
    assert results(busy, "steady")[0]["burnt_for_s"] == pytest.approx(20)


def test_busy_server_is_probed_once_after_the_limit(busy: FakeWorld) -> None:
    """Regression: a watch as long as the limit left no time for a probe."""
    busy.conduct(decay(watch_s=20.0, limit_s=10.0))
    assert [len(row["probe_rates_per_s"]) for row in results(busy, "steady")] == [1] * 4
    assert len(of_kind(busy, "steady", "measure")) == 4


def test_dead_server_does_not_recover(fake: FakeWorld) -> None:
    fake.servers["weak"] = FakeServer(answer=greet, dies_after_s=0.9, exit_code=3)
    fake.conduct(decay())
    (row,) = of_kind(fake, "weak", "recovery")
    assert (row["state"], row["reason"]) == ("failed", "it died (exit 3)")


def test_interrupted_series_is_not_reported_as_without_recovery(fake: FakeWorld) -> None:
    """Regression: after an interrupt, the recovery of the last trial was reported as `never`."""

    def interrupt(loads: int) -> None:
        if loads == 1:  # the first probe
            raise KeyboardInterrupt

    fake.before_load = interrupt
    run_id = fake.conduct(decay())
    with Store(fake.path, read_only=True) as store:
        page = decay_page(load_replay(store, run_id), fake.path.parent)
    section, _ = page.sections  # and the published series
    assert section.lines[0].endswith("the run was ended during its series.")
    assert section.table[-1].cells == ("–",)


@pytest.mark.parametrize(
    ("setting", "trials", "limit_s", "rate_share"),
    [("default", 1, 0.5, 0.5), ("burns", 2, 60.0, 0.02)],  # only the second recovers
)
def test_real_server_that_slows_down(
    world: World, tmp_path: Path, setting: str, trials: int, limit_s: float, rate_share: float
) -> None:
    protocol = decay(rate_share=rate_share, limit_s=limit_s, watch_s=4.0, idle_cpus=0.02)
    stopping = protocol.stopping.model_copy(update={"repetitions": 2})
    protocol = protocol.model_copy(update={"stopping": stopping})
    tired = replace(contender("tires", setting), name=f"tires-{setting}")
    with Store(tmp_path / "runs.sqlite") as store:
        with open_run(store, world, protocol, ["test"], 1) as run:
            entered_contenders = enter_made([tired], store, run.id)
            context = RunContext(world, protocol, store, run.id, entered_contenders, 1, silent)
            Alone(context, {}).run()
        (tired_one,) = load_replay(store, run.id).contenders
        series = series_of(tired_one)
    assert len(series.trials) == trials
    assert series.recovers is (setting == "burns")
    if setting == "burns":
        assert sum(trial.cpu_burnt_s or 0 for trial in series.trials) > 0
