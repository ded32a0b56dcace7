from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from deadheat.campaign.pace import FixedPace, Moment, Pace, SettlePace, pace_of
from deadheat.protocol import Stopping

START = Moment(invocation=1, blocks=0, elapsed_s=0, starting_s=10, block_s=0, settled=False)


def walk(pace: Pace, settles_after: int = 10**6, block_s: float = 5) -> list[int]:
    """Blocks of each invocation in a campaign of even blocks, settled after so many in all."""

    def blocks_of(moment: Moment) -> Iterator[Moment]:
        while pace.another_block(moment):
            moment = replace(
                moment,
                blocks=moment.blocks + 1,
                elapsed_s=moment.elapsed_s + block_s,
                block_s=block_s,
                settled=sum(blocks) + moment.blocks + 1 >= settles_after,
            )
            yield moment

    blocks: list[int] = []
    moment = replace(START, elapsed_s=START.starting_s)
    while True:
        for passed in blocks_of(moment):
            moment = passed
        blocks.append(moment.blocks)
        if not pace.another_invocation(moment):
            return blocks
        moment = replace(
            moment,
            invocation=moment.invocation + 1,
            blocks=0,
            block_s=0,
            elapsed_s=moment.elapsed_s + START.starting_s,
        )


def settle(**values: Any) -> SettlePace:
    return SettlePace(Stopping(kind="settle", **{"budget_s": 300, **values}))


@pytest.mark.parametrize(
    ("repetitions", "invocations", "blocks"),
    [(3, 1, [3]), (6, 3, [2, 2, 2]), (5, 3, [2, 2, 1]), (2, 3, [1, 1]), (1, 1, [1])],
)
def test_a_fixed_pace_spreads_its_repetitions(
    repetitions: int, invocations: int, blocks: list[int]
) -> None:
    stopping = Stopping(kind="fixed", repetitions=repetitions, invocations=invocations)
    assert walk(FixedPace(stopping)) == blocks


def test_a_fixed_pace_asks_neither_clock_nor_standings() -> None:
    pace = FixedPace(Stopping(kind="fixed", repetitions=2, budget_s=1))
    assert pace.another_block(replace(START, elapsed_s=1000, settled=True))


def test_a_settled_race_ends_with_the_invocations_asked_for() -> None:
    assert walk(settle(invocations=2, blocks_min=4), settles_after=1) == [4, 4]
    assert walk(settle(invocations=1, blocks_min=3), settles_after=1) == [3]


def test_fresh_starts_come_before_more_blocks() -> None:
    """300 s hold nine invocations of 10 s and four blocks of 5 s, and 30 s more."""
    assert walk(settle(invocations=3, blocks_min=4)) == [4] * 10


def test_time_for_no_further_start_goes_into_blocks() -> None:
    assert walk(settle(invocations=2, blocks_min=4, budget_s=85)) == [4, 9]


def test_starts_that_are_owed_come_before_blocks() -> None:
    """60 s hold three starts of 10 s with two blocks of 5 s each, and not one with four."""
    assert walk(settle(invocations=3, blocks_min=4, budget_s=60)) == [2, 2, 2]


def test_a_late_decision_ends_the_race_at_once() -> None:
    assert walk(settle(invocations=1, blocks_min=4, budget_s=55), settles_after=6) == [6]


def test_the_budget_is_never_exceeded_by_a_block_that_was_foreseen() -> None:
    for budget_s in range(20, 200, 7):
        blocks = walk(settle(budget_s=budget_s, blocks_min=2))
        spent_s = len(blocks) * 10 + sum(blocks) * 5
        assert spent_s <= budget_s, blocks


def test_even_a_budget_too_small_gives_a_block() -> None:
    assert walk(settle(budget_s=1)) == [1]


def test_a_heat_leaves_its_time_to_those_that_wait() -> None:
    moment = replace(START, blocks=4, elapsed_s=90, block_s=5, more_heats=True)
    pace = settle(budget_s=100, blocks_min=4)
    assert not pace.another_block(moment)
    assert pace.another_block(replace(moment, more_heats=False))
    assert pace.another_block(replace(moment, blocks=3))


def test_the_protocol_chooses_the_pace() -> None:
    assert isinstance(pace_of(Stopping(kind="fixed")), FixedPace)
    assert isinstance(pace_of(Stopping(kind="settle")), SettlePace)
