"""A race in which nothing is valid ends."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.failures import BLOCKS_MIN, TRIALS_MAX, InvalidStreak, Noisy, Out, failure_of
from deadheat.errors import Unmeasurable
from deadheat.events import Event
from deadheat.host import Sample
from deadheat.store import Gate, TrialRecord
from deadheat.store.listing import run_argument
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


def events_of(fake: FakeWorld) -> list[Event]:
    return [event for event in fake.events if isinstance(event, Event)]


def valid(block: int) -> TrialRecord:
    known: dict[str, Any] = {"run_id": "r", "contender_id": 1, "instance_id": 1, "kind": "measure"}
    known |= {"heat": 1, "invocation": 1, "connections": 10, "at_s": 0.0, "rate_per_s": 1.0}
    return TrialRecord(**known, block=block, command=(), state="ok")


def invalid(block: int, code: str = "neighbor") -> TrialRecord:
    gate = Gate(code, passed=False, reading=0.4, threshold=0.05, unit="share", advice="end it")
    return replace(valid(block), gates=(gate,))


def test_ten_invalid_trials_in_a_row_end_the_race_with_the_reason() -> None:
    streak = InvalidStreak()
    for block in range(1, TRIALS_MAX):
        streak.note("a", invalid(block), others_valid=True)
    with pytest.raises(Unmeasurable, match="10 failed by the check neighbor") as error:
        streak.note("a", invalid(TRIALS_MAX), others_valid=True)
    assert error.value.hint is not None
    assert error.value.hint.startswith("end it")


def test_a_valid_trial_begins_the_count_anew() -> None:
    streak = InvalidStreak()
    for block in range(1, 4 * TRIALS_MAX):
        trial = valid(block) if block % TRIALS_MAX == 0 else invalid(block)
        streak.note("a", trial, others_valid=False)


def test_one_disturbance_of_a_large_field_does_not_end_the_race() -> None:
    """The gates of the machine fail all trials of a block together.

    A block has first and second instances, and was counted twice.
    """
    streak = InvalidStreak()
    for block in range(1, BLOCKS_MIN):
        for number in range(3 * TRIALS_MAX):
            trial = replace(invalid(block), invocation=1 + number % 2)
            streak.note("a", trial, others_valid=True)


def test_a_contender_that_alone_is_invalid_is_out() -> None:
    streak = InvalidStreak()
    reasons = [
        streak.note("a", invalid(block, "errors"), others_valid=True)
        for block in range(1, TRIALS_MAX + 2)
    ]
    assert [place for place, reason in enumerate(reasons, 1) if reason] == [TRIALS_MAX]
    assert reasons[TRIALS_MAX - 1] == Out("its last 10 trials were invalid, 10 by the check errors")


def test_without_another_valid_contender_the_race_ends() -> None:
    streak = InvalidStreak()
    for block in range(1, TRIALS_MAX):
        streak.note("a", invalid(block, "errors"), others_valid=False)
    with pytest.raises(Unmeasurable, match="the check errors"):
        streak.note("a", invalid(TRIALS_MAX, "errors"), others_valid=False)


def test_a_noisy_machine_is_waited_for_within_a_budget() -> None:
    streak = InvalidStreak(has_budget=True)
    outcomes = [streak.note("a", invalid(block), True) for block in range(1, TRIALS_MAX + 1)]
    assert outcomes == [None] * (TRIALS_MAX - 1) + [
        Noisy("the last 10 trials were invalid, 10 by the check neighbor")
    ]
    assert streak.note("a", invalid(TRIALS_MAX + 1), True) is None


def test_a_gate_of_the_machine_is_taken_for_the_cause_of_the_others() -> None:
    trial = invalid(1)
    gates = (replace(trial.gates[0], code="served"), *trial.gates)
    failure = failure_of(replace(trial, gates=gates))
    assert failure is not None
    assert failure.of_the_machine


def test_servers_that_fail_by_themselves_end_a_race_within_its_budget(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    fake.served = lambda *_: 1
    with pytest.raises(Unmeasurable, match="failed by the check served") as stopped:
        fake.conduct(sliced(controls=False))
    # Not `deadheat report`, which shows the last run with a valid trial.
    report = run_argument(str(stopped.value.run_id), fake.path)
    assert f"; `deadheat report {report} -v` shows every check" in str(stopped.value.hint)
    assert len(fake.trials()) == TRIALS_MAX
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]
    assert fake.left_running() == []


def noisy_until(fake: FakeWorld, quiet_at_s: float) -> None:
    """Other processes use half of the CPUs until then."""
    idle = fake.host.sample

    def sample(at_s: float, processes: Sequence[str]) -> Sample:
        busy = int(min(at_s, quiet_at_s) * 50)
        ticks = (busy, 0, 0, int(at_s * 100) - busy, 0, 0, 0, 0)
        return replace(idle(at_s, processes), cpu_ticks={0: ticks, 1: ticks})

    fake.host.sample = sample  # type: ignore[method-assign]


def test_bug_a_race_at_a_noisy_time_ended_with_nothing(tmp_path: Path) -> None:
    """It waits until the machine is quiet, says so, and settles within its budget."""
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    noisy_until(fake, 9.5)
    fake.conduct(sliced(controls=False))
    (waits,) = [trouble for trouble in fake.troubles() if "the race waits" in trouble]
    assert "the last 10 trials were invalid, " in waits
    assert "the machine is busy: other processes use 50 % of these CPUs" in waits
    assert any(e.what.startswith("the machine is quiet after ") for e in events_of(fake))
    assert any(trial["at_s"] > 9 for trial in fake.trials())
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]
    assert fake.conclusion()["why"] == "settled"


def test_a_machine_that_stays_noisy_is_measured_until_the_budget_is_spent(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    noisy_until(fake, math.inf)
    fake.conduct(sliced(controls=False))
    assert len([t for t in fake.troubles() if "waits up to 6 s" in t]) > 1
    assert any(e.what.startswith("the machine is still busy after ") for e in events_of(fake))
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]
    assert fake.conclusion()["why"] == "budget spent"
    assert fake.trials()[-1]["at_s"] > 40
    assert fake.left_running() == []
