"""A race in which nothing is valid ends."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.invalid_streak import BLOCKS_MIN, TRIALS_MAX, InvalidStreak
from deadheat.errors import Unmeasurable
from deadheat.store import Gate, TrialRecord
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


def record(block: int, **values: Any) -> TrialRecord:
    known = {"run_id": "r", "contender_id": 1, "instance_id": 1, "kind": "measure", "heat": 1}
    return TrialRecord(
        **{**known, "invocation": 1, "block": block, "connections": 10, "at_s": 0.0, **values}
    )


def invalid(block: int, code: str = "neighbor") -> TrialRecord:
    gate = Gate(code, passed=False, reading=0.4, threshold=0.05, unit="share", advice="end it")
    return record(block, command=(), state="ok", rate_per_s=1.0, gates=(gate,))


def valid(block: int) -> TrialRecord:
    return record(block, command=(), state="ok", rate_per_s=1.0)


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
    """The gates of the machine fail all trials of a block together."""
    streak = InvalidStreak()
    for block in range(1, BLOCKS_MIN):
        for _ in range(3 * TRIALS_MAX):
            streak.note("a", invalid(block), others_valid=True)


def test_instances_with_other_numbers_are_of_one_block() -> None:
    """In slices, a block has first and second instances, and was counted twice."""
    streak = InvalidStreak(sliced=True)
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
    assert reasons[TRIALS_MAX - 1] == "its last 10 trials were invalid, 10 by the check errors"


def test_without_another_valid_contender_the_race_ends() -> None:
    streak = InvalidStreak()
    for block in range(1, TRIALS_MAX):
        streak.note("a", invalid(block, "errors"), others_valid=False)
    with pytest.raises(Unmeasurable, match="the check errors"):
        streak.note("a", invalid(TRIALS_MAX, "errors"), others_valid=False)


def test_a_race_on_a_busy_machine_ends_and_keeps_its_trials(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    for name in ("fast", "slow"):
        fake.retransmits[name] = 1000
    with pytest.raises(Unmeasurable, match="failed by the check retransmits"):
        fake.conduct(sliced(controls=False))
    assert len(fake.trials()) == TRIALS_MAX
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]
    assert fake.left_running() == []
