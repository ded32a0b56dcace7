"""Races in slices in which something dies, is killed or is interrupted."""

import itertools
import math
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.errors import DeadheatError
from deadheat.events import Progress
from deadheat.host import Exited, HostError, Listeners
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.store import store as store_module
from tests.campaign.fake_world import FakeWorld, greet
from tests.campaign.made_protocols import SETTLE, sliced


def test_a_server_that_dies_is_a_failed_trial_and_is_started_again(fake: FakeWorld) -> None:
    died: list[str] = []

    def die_once(name: str, request: dict[str, Any]) -> None:
        if name == "slow" and len(fake.slices) > 8 and not died:
            died.append(name)
            for process in fake.host.processes.values():
                if process.spec.command[0] == "slow" and process.exited is None:
                    process.exited = Exited(1, 1.0, survivors=0, killed=False)
            raise HostError("no answer within 20 s")

    fake.before_slice = die_once
    fake.conduct(sliced(controls=False))
    failed = [trial for trial in fake.trials() if trial["state"] == "failed"]
    assert [trial["name"] for trial in failed] == ["slow"]
    assert "died under load" in failed[0]["reason"]
    later = [trial for trial in fake.trials() if trial["block"] > failed[0]["block"]]
    assert any(trial["name"] == "slow" and trial["state"] == "ok" for trial in later)


def test_a_contender_that_keeps_failing_is_out(fake: FakeWorld) -> None:
    def refuse(name: str, request: dict[str, Any]) -> None:
        if name == "slow":
            raise HostError("no answer within 20 s")

    fake.before_slice = refuse
    fake.conduct(sliced(controls=False))
    failed = [trial for trial in fake.trials() if trial["state"] == "failed"]
    assert [trial["name"] for trial in failed] == ["slow"] * 3
    assert "slow is out: 3 trials in a row failed" in fake.troubles()
    assert fake.left_running() == []


def test_a_load_process_that_answers_another_slice_is_a_fault(fake: FakeWorld) -> None:
    ask = fake.host.ask

    def wrong_number(process: str, line: str | None, deadline_s: float) -> str:
        answer = ask(process, line, deadline_s)
        return answer.replace('"type": "slice", "id": 1', '"type": "slice", "id": 99')

    fake.host.ask = wrong_number  # type: ignore[method-assign]
    with pytest.raises(DeadheatError, match="no contender is left"):
        fake.conduct(sliced(controls=False))
    assert any("did not answer slice 1" in trouble for trouble in fake.troubles())


def test_an_interrupted_race_goes_on_without_losing_a_trial(fake: FakeWorld) -> None:
    fake.noise = 0.2
    with fake.interrupted(lambda *_: len(fake.slices) == 40):
        run_id = fake.conduct(sliced(controls=False))
    before = len(fake.trials())
    assert before > 0
    fake.resume(run_id)
    trials = fake.trials()
    assert len(trials) > before
    assert [trial["block"] for trial in trials] == sorted(trial["block"] for trial in trials)
    assert fake.left_running() == []


def test_bug_a_block_in_which_a_worker_was_replaced_was_valid(fake: FakeWorld) -> None:
    """Its trial fails the gate; a process that lives for one slice is not a worker."""
    slices_of_process: Counter[int] = Counter()

    def replace_worker(name: str, request: dict[str, Any]) -> None:
        for process in fake.host.processes.values():
            if process.spec.command[0] == "fast" and process.exited is None and not process.frozen:
                slices_of_process[id(process)] += 1
                slices = slices_of_process[id(process)]
                worker = (1, 1) if slices <= 2 else (2, 2)  # in its first block, after the warm-up
                process.members = frozenset({worker, (3, slices)})

    fake.before_slice = replace_worker
    fake.conduct(sliced(controls=False, warmup={"kind": "fixed", "duration_s": 0.5}))
    failed = fake.rows(
        "SELECT contender.name, gate.reading FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id"
        " WHERE gate.code = 'workers' AND NOT gate.passed"
    )
    assert failed
    assert all(row == {"name": "fast", "reading": 1.0} for row in failed)
    assert any(": check workers failed: " in trouble for trouble in fake.troubles())


def test_bug_a_server_killed_between_slices_was_loaded_to_the_end(fake: FakeWorld) -> None:
    """Refused connections are a result of the load process, so its death went unnoticed."""

    def kill(name: str, request: dict[str, Any]) -> None:
        for process in fake.host.processes.values():
            if process.spec.command[0] == name == "slow":
                process.exited = Exited(-9, 1.0, survivors=0, killed=False)

    fake.rates["slow"] = 1e-9
    fake.before_slice = kill
    fake.conduct(sliced(controls=False))
    deaths = [trouble for trouble in fake.troubles() if "slow died under load" in trouble]
    assert deaths[0] == "slow at 10 connections: slow died under load (signal 9)"
    assert len([name for name, _ in fake.slices if name == "slow"]) == len(deaths) == 3


def dies_at_first(fake: FakeWorld, server: FakeServer) -> None:
    """The first process of `slow` behaves like this one."""
    scripted = iter([server])
    fake.host.on_start(
        lambda command: command[0] == "slow", lambda *_: next(scripted, fake.servers["slow"])
    )


@pytest.mark.parametrize("when", ["while it starts", "while it was verified", "during its warm-up"])
def test_bug_a_server_killed_during_its_start_was_left_out(fake: FakeWorld, when: str) -> None:
    answered: list[bytes] = []

    def answer(request: bytes) -> bytes:
        answered.append(request)
        if len(answered) == 1 or when != "while it was verified":
            return greet(request)
        fake.host.sleep(0.1)
        return b""

    dies_after_s = {"while it starts": 0, "while it was verified": 0.05, "during its warm-up": 0.3}
    dies_at_first(fake, FakeServer(answer, dies_after_s=dies_after_s[when], exit_code=-9))
    fake.conduct(sliced(warmup={"kind": "fixed", "duration_s": 0.5}))
    assert "slow" in {trial["name"] for trial in fake.trials() if trial["state"] == "ok"}
    assert fake.rows("SELECT fault FROM contender WHERE fault IS NOT NULL") == []
    (start,) = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert "signal 9" in start["fault"]
    assert when in start["fault"] or "before it was ready" in start["fault"]
    assert f"{start['fault']}; it is started again (2 of 3 times)" in fake.troubles()
    assert fake.left_running() == []


@pytest.mark.parametrize("good", [1, 2, 3])
def test_bug_a_later_start_that_failed_cost_its_contender_the_race(
    fake: FakeWorld, good: int
) -> None:
    """With two measured starts, it has a place. It keeps its trials and starts no more."""
    broken = FakeServer(greet, dies_after_s=0, exit_code=1)
    scripted = itertools.chain([fake.servers["slow"]] * good, itertools.repeat(broken))
    fake.host.on_start(lambda command: command[0] == "slow", lambda *_: next(scripted))
    fake.noise = 0.2
    stopping = SETTLE | {"invocations": 4}
    fake.conduct(sliced(warmup={"kind": "fixed", "duration_s": 0.5}, stopping=stopping))
    out = fake.rows("SELECT name, fault FROM contender WHERE fault IS NOT NULL")
    gave_up = [each for each in fake.troubles() if "does not start again" in each]
    if good == 1:
        assert [each["name"] for each in out] == ["slow"]
        assert gave_up == []
    else:
        assert out == []
        assert gave_up == [f"slow does not start again: it has {good} starts"]
        (failed,) = fake.rows("SELECT max(at_s) AS at_s FROM instance WHERE fault IS NOT NULL")
        assert any(
            each["at_s"] > failed["at_s"] for each in fake.trials() if each["name"] == "slow"
        )
    assert fake.starts()["slow"] == good + 3
    assert fake.left_running() == []


def test_bug_a_server_killed_after_its_first_answer_was_taken_for_another(fake: FakeWorld) -> None:
    """Nothing listened on its port any more, so its answer seemed to be that of a container."""
    gone = FakeServer(greet, dies_after_s=0.05, exit_code=-9)
    dies_at_first(fake, replace(gone, listeners=Listeners([], [], complete=True)))
    listeners = fake.host.listeners

    def slowly(process: str, port: int) -> Listeners:
        fake.host.sleep(0.1)
        return listeners(process, port)

    fake.host.listeners = slowly  # type: ignore[method-assign]
    fake.conduct(sliced())
    (start,) = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert start["fault"] == "slow ended before it was ready (signal 9)"
    assert "slow" in {trial["name"] for trial in fake.trials()}


def test_bug_an_engine_killed_in_warm_up_cost_its_contender_the_race(fake: FakeWorld) -> None:
    def fail_first(name: str, request: dict[str, Any]) -> None:
        if name == "slow" and "slow" not in {each for each, _ in fake.slices}:
            fake.slices.append((name, request))
            raise HostError("it ended with exit code -9 before it answered")

    fake.before_slice = fail_first
    fake.conduct(sliced(warmup={"kind": "fixed", "duration_s": 0.5}))
    assert {trial["state"] for trial in fake.trials()} == {"ok"}
    (start,) = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert start["fault"].startswith("slow could not be warmed up: it ended with exit code -9")
    assert fake.left_running() == []


class FarHost(FakeHost):
    """Another machine than that of the servers, with the same clock and processes."""

    def __init__(self, host: FakeHost) -> None:
        self.__dict__ = host.__dict__


@pytest.mark.parametrize("refused", [1, 99])
def test_bug_a_link_cut_for_a_moment_cost_its_contender_the_race(
    fake: FakeWorld, refused: int
) -> None:
    """The first request over the link failed while the server lived, which was held against it."""
    answers = itertools.chain(["No route to host"] * refused, itertools.repeat(None))
    fake.preflight_error = lambda name: next(answers) if name == "slow" else None
    fake.world = replace(fake.world, loads=(replace(fake.world.load, host=FarHost(fake.host)),))
    fake.conduct(sliced())
    fault = "slow cannot be loaded: the first request failed: No route to host"
    starts = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert [start["fault"] for start in starts] == [fault] * min(refused, 3)
    assert ("slow" in {trial["name"] for trial in fake.trials()}) == (refused < 3)
    assert f"{fault}; it is started again (2 of 3 times)" in fake.troubles()
    assert fake.left_running() == []


def test_a_server_that_cannot_be_warmed_up_is_tried_three_times(fake: FakeWorld) -> None:
    def fail(name: str, request: dict[str, Any]) -> None:
        if name == "slow":
            raise HostError("no answer within 20 s")

    fake.before_slice = fail
    fake.conduct(sliced(warmup={"kind": "fixed", "duration_s": 0.5}))
    assert "slow is out: 3 trials in a row failed" in fake.troubles()
    first = fake.rows("SELECT fault FROM instance WHERE contender_id = 3 AND invocation = 1")
    assert [start["fault"] is None for start in first] == [False, False, True]


class Killed(BaseException):
    """Nothing in deadheat handles it, as nothing handles SIGKILL."""


def kill_in_trial(patched: pytest.MonkeyPatch, number: int) -> None:
    """While the trial of this number is stored, from 1."""
    insert, calls = store_module._insert_trial, itertools.count(1)

    def killed(*values: Any) -> int:
        if next(calls) == number:
            raise Killed
        return insert(*values)

    patched.setattr(store_module, "_insert_trial", killed)


def test_bug_a_resumed_run_past_its_budget_left_contenders_without_a_trial(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the first block outlasted the budget, and a SIGKILL hit while it was stored."""
    slow_s = 100.0
    fake.before_slice = lambda *_: fake.host.sleep(slow_s)
    with monkeypatch.context() as patched:
        kill_in_trial(patched, 3)
        with pytest.raises(Killed):
            fake.conduct(sliced())
    fake.before_slice = lambda *_: None
    (run,) = fake.rows("SELECT id FROM run")
    fake.resume(run["id"])
    assert measured(fake) == {"fast", "middle", "slow", "null-server", "reference"}


def measured(fake: FakeWorld) -> set[str]:
    return {trial["name"] for trial in fake.trials() if trial["state"] == "ok"}


def test_bug_a_resumed_run_without_a_trial_was_complete_before_all_had_one(fake: FakeWorld) -> None:
    """On a busy machine, its starts took longer than the whole budget.

    Its progress had an infinite time left, which a terminal cannot show.
    """

    with fake.interrupted(lambda *_: True):
        run_id = fake.conduct(sliced(stopping=SETTLE | {"budget_s": 12}))
    assert fake.trials() == []
    fake.start_slowly(4)
    fake.resume(run_id)
    assert measured(fake) == set(fake.rates)
    lefts_s = [event.left_s for event in fake.events if isinstance(event, Progress)]
    assert all(map(math.isfinite, filter(None, lefts_s)))


def test_bug_a_resumed_run_past_its_budget_measured_only_its_first_group(fake: FakeWorld) -> None:
    with fake.interrupted(lambda *_: bool(fake.trials())):
        run_id = fake.conduct(sliced(slices={"rounds": 4, "group": 2}, controls=False))
    assert measured(fake) < set(fake.rates)
    fake.before_slice = lambda *_: fake.host.sleep(100.0)
    fake.resume(run_id)
    assert measured(fake) == {"fast", "middle", "slow"}


def test_bug_extensions_raced_the_fastest_again_and_never_came_to_the_slowest(
    tmp_path: Path,
) -> None:
    fake = FakeWorld(tmp_path, **{f"s{number}": 1000.0 - number for number in range(8)})
    with fake.interrupted(lambda *_: len({trial["block"] for trial in fake.trials()}) == 3):
        run_id = fake.conduct(sliced(slices={"rounds": 4, "group": 2}, controls=False))
    left = set(fake.rates) - measured(fake)
    assert left
    fake.resume(run_id)
    fourth = {trial["name"] for trial in fake.trials() if trial["block"] == 4}
    assert fourth & left


def test_a_block_is_stored_whole_or_not_at_all(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_in_trial(monkeypatch, 8)  # of the second block, with five trials each
    with pytest.raises(Killed):
        fake.conduct(sliced())
    assert {trial["block"] for trial in fake.trials()} == {1}
    assert len(fake.trials()) == 5


def test_a_resumed_run_past_its_budget_ends_if_all_have_a_trial(fake: FakeWorld) -> None:
    def slowly(*_: object) -> bool:
        fake.host.sleep(5.0)
        return len(fake.slices) == 20

    with fake.interrupted(slowly):
        run_id = fake.conduct(sliced())
    before = len(fake.trials())
    fake.resume(run_id)
    assert len(fake.trials()) == before == 5


def test_instances_stop_at_the_same_time_when_a_race_ends(fake: FakeWorld) -> None:
    """The first one that stops waits for a second one, which would not come after it."""
    stopping: list[str] = []
    two_stop = threading.Event()
    met: list[bool] = []
    stop = fake.host.stop

    def stop_and_wait(process: str, signal: str, deadline_s: float) -> Exited:
        if fake.host.processes[process].spec.command[0] in fake.rates:
            stopping.append(process)
            if len(stopping) > 1:
                two_stop.set()
            met.append(two_stop.wait(timeout=5))
        return stop(process, signal, deadline_s)

    fake.host.stop = stop_and_wait  # type: ignore[method-assign]
    fake.conduct(sliced(controls=False))
    assert len(met) > len(fake.rates)
    assert all(met[-len(fake.rates) :])
    assert fake.left_running() == []
