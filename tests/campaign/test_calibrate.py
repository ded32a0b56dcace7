"""Calibration in a fake world: what its probe and its races say when a server is ended."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.calibrate import calibrate, find_work
from deadheat.errors import DeadheatError, Unmeasurable
from deadheat.host import Completed, Exited, ProcessSpec, Usage
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.store import Store
from tests.campaign.fake_world import FakeWorld, document, greet
from tests.campaign.made_protocols import sliced

LIMIT = "memory_limit: 0.01 GiB, limit 0.00 GiB"


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    """Null servers whose requests cost as much as their work asks for."""
    fake = FakeWorld(tmp_path, **{"null-server": 2000.0, "reference": 2000.0})
    fake.host.on_start(
        lambda command: command[0] == "deadheat-load", lambda *_: FakeServer(answer=greet)
    )
    return fake


def end_null_servers(fake: FakeWorld, limit: str | None = LIMIT) -> None:
    """End those that run; frozen ones stay."""
    for process in fake.host.processes.values():
        lives = process.exited is None and not process.frozen
        if "--null-server" in process.spec.command and lives:
            process.exited = Exited(-9, 1.0, survivors=0, killed=True, limit=limit)


def loads_answer(fake: FakeWorld, change: Callable[[dict[str, Any]], object]) -> None:
    """Each load of a process of its own prints this document, after `change`."""

    def load(_: FakeHost, spec: ProcessSpec) -> Completed:
        done = document(spec, 2000.0)
        answer = json.loads(done.stdout)
        change(answer)
        return replace(done, stdout=json.dumps(answer))

    fake.host.on_run(lambda command: "--json" in command, load)


@pytest.mark.parametrize(
    ("limit", "said"),
    [(LIMIT, f"was ended: {LIMIT}"), (None, r"died while it was loaded \(signal 9\)")],
)
def test_bug_a_probe_whose_server_was_ended_blamed_the_machine(
    fake: FakeWorld, limit: str | None, said: str
) -> None:
    """The limiter samples, so the server answers for a while, and the load ends with errors."""

    def end(answer: dict[str, Any]) -> None:
        end_null_servers(fake, limit)
        answer["classes"]["connect_refused"] = 1000

    loads_answer(fake, end)
    with pytest.raises(DeadheatError, match=f"the null server {said}"):
        find_work(fake.world, sliced())


@pytest.mark.parametrize(
    ("classes", "failed"),
    [({"ok": 900, "status": 1_200}, "1,200 status"), ({"ok": 0}, "no request was answered")],
)
def test_a_probe_with_errors_is_not_believed(
    fake: FakeWorld, classes: dict[str, int], failed: str
) -> None:
    loads_answer(fake, lambda answer: answer["classes"].update(classes))
    with pytest.raises(DeadheatError, match=f"did not answer every request of the probe: {failed}"):
        find_work(fake.world, sliced())


def calibrated(fake: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """One race of three copies, after a probe that saw the work."""
    used = iter((0.0, 0.01, 0.0, 1.0))
    monkeypatch.setattr(
        fake.host, "usage", lambda _: Usage(next(used, 1.0), 1 << 20, 1 << 20, 1, 1)
    )
    with Store(fake.path) as store:
        calibrate(fake.world, store, sliced(), 3, 1, 7, fake.events.append)


def test_bug_a_calibration_whose_copies_were_ended_was_a_traceback(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said `no slices to fit`."""

    def end(*_: object) -> None:
        fake.rates |= {"null-server": 1e-9, "reference": 1e-9}
        end_null_servers(fake)

    fake.before_slice = end
    with pytest.raises(DeadheatError) as error:
        calibrated(fake, monkeypatch)
    assert LIMIT in str(error.value)
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]
    assert LIMIT in fake.conclusion()["why"]
    assert fake.left_running() == []


def test_a_calibration_without_a_valid_trial_says_why(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = fake.host.sample

    def busy(at_s: float, processes: Any) -> Any:
        ticks = (int(at_s * 50), 0, 0, int(at_s * 50), 0, 0, 0, 0)
        return replace(idle(at_s, processes), cpu_ticks={0: ticks, 1: ticks})

    monkeypatch.setattr(fake.host, "sample", busy)
    with pytest.raises(Unmeasurable, match=r"no ranking: none of .* by the check neighbor"):
        calibrated(fake, monkeypatch)
