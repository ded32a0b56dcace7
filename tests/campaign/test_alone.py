"""Servers that run alone, one after the other, in a fake world."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.host.fake import FakeServer
from tests.campaign.fake_world import FakeWorld, greet
from tests.campaign.made_protocols import alone


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, slow=1000)


def places(fake: FakeWorld) -> list[tuple[str, int, int]]:
    return [(row["name"], row["connections"], row["block"]) for row in fake.trials()]


def test_runs_all_repetitions_of_a_contender_by_level(fake: FakeWorld) -> None:
    fake.conduct(alone())
    steps = [(10, 1), (10, 2), (100, 1), (100, 2)]
    assert places(fake) == [(name, *place) for name in ("fast", "slow") for place in steps]
    assert fake.started() == ["fast", "slow"]
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]


def test_only_the_loaded_server_is_running(fake: FakeWorld) -> None:
    """No other contender is frozen beside it: every other server has been stopped."""
    alive: list[int] = []
    processes = fake.host.processes
    fake.before_load = lambda _: alive.append(sum(p.exited is None for p in processes.values()))
    fake.conduct(alone())
    assert alive == [1] * 8
    assert fake.left_running() == []


@pytest.mark.parametrize(("restart", "expected"), [("never", 1), ("level", 2), ("repetition", 4)])
def test_restarts_as_the_protocol_says(fake: FakeWorld, restart: str, expected: int) -> None:
    fake.conduct(alone(restart=restart))
    assert fake.started() == ["fast"] * expected + ["slow"] * expected
    assert len({row["instance_id"] for row in fake.trials()}) == 2 * expected


def test_published_row_may_have_its_own_restart(fake: FakeWorld) -> None:
    protocol = alone(restarts={"Slow Server": "repetition"})
    fake.conduct(protocol, labels={"slow": "Slow Server"})
    assert fake.started() == ["fast"] + ["slow"] * 4
    rows = fake.rows("SELECT label FROM contender ORDER BY position")
    assert [row["label"] for row in rows] == [None, "Slow Server"]


def test_seed_reproduces_the_random_order(tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate((1, 1, 2, 3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        fake = FakeWorld(folder, a=1000, b=1000, c=1000, d=1000)
        fake.conduct(alone(order="random"), seed)
        orders.append(fake.started())
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) > 1


def test_null_server_runs_first_and_sets_the_ceiling(fake: FakeWorld) -> None:
    fake.conduct(alone(controls=True))
    assert fake.started() == ["null-server", "fast", "slow"]
    ceilings = fake.rows(
        "SELECT DISTINCT contender.name FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id WHERE code = 'ceiling'"
        " ORDER BY contender.name"
    )
    assert [row["name"] for row in ceilings] == ["fast", "slow"]


def test_dead_server_is_restarted_for_its_next_trial(fake: FakeWorld) -> None:
    fake.servers["fast"] = FakeServer(answer=greet, dies_after_s=1.2, exit_code=7)
    fake.conduct(alone())
    states = [row["state"] for row in fake.trials() if row["name"] == "fast"]
    assert states == ["ok", "ok", "failed", "ok"]
    assert fake.started() == ["fast", "fast", "slow"]
    assert any("fast died under load (exit 7)" in trouble for trouble in fake.troubles())


def test_failed_start_does_not_end_the_run(fake: FakeWorld) -> None:
    fake.servers["fast"] = FakeServer(answer=lambda _: b"", log="no such file")
    fake.conduct(alone())
    assert {name for name, *_ in places(fake)} == {"slow"}
    assert fake.rows("SELECT fault FROM contender WHERE name = 'fast'")[0]["fault"]


def test_hanging_generator_fails_only_its_trial(fake: FakeWorld) -> None:
    """ab waits forever for a server that does not close an HTTP/1.0 connection."""
    load = fake._load

    def hang(host: Any, spec: Any) -> Any:
        done = load(host, spec)
        return replace(done, stdout="", elapsed_s=1e6) if len(fake.loads) == 2 else done

    fake.host.on_run(lambda command: command[0] == "deadheat-load", hang)
    fake.conduct(alone())
    assert [row["state"] for row in fake.trials()] == ["ok", "failed", *["ok"] * 6]
    assert "did not end within" in fake.trials()[1]["reason"]


def test_interrupt_keeps_measured_trials(fake: FakeWorld) -> None:
    def interrupt(loads: int) -> None:
        if loads == 5:
            raise KeyboardInterrupt

    fake.before_load = interrupt
    fake.conduct(alone(), missing={"Third": "no server here"})
    assert len(fake.trials()) == 5
    assert fake.left_running() == []
    assert fake.rows("SELECT state FROM run") == [{"state": "interrupted"}]
    assert fake.conclusion()["missing"] == {"Third": "no server here"}
