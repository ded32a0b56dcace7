"""Searching the highest rate that holds an objective, on machines with and without stalls."""

from collections.abc import Callable

import numpy as np
import pytest

from deadheat.stats.search import Bounds, Observation, Step, next_step


def search(holds: Callable[[float], bool], bounds: Bounds) -> tuple[Step, int]:
    """Run to the end; how it ended, and after how many trials."""
    seen: list[Observation] = []
    while (step := next_step(seen, bounds)).next_rate is not None:
        seen.append(Observation(step.next_rate, holds(step.next_rate)))
        assert len(seen) < 100
    return step, len(seen)


@pytest.mark.parametrize("capacity", [37.0, 1000.0, 52_345.0])
@pytest.mark.parametrize("first", [20.0, 1000.0, 90_000.0])
def test_the_capacity_is_bracketed_within_the_precision(capacity: float, first: float) -> None:
    step, _ = search(lambda rate: rate <= capacity, Bounds(first, 10))
    assert step.low <= capacity < step.high
    assert step.high / step.low <= 1.02


def test_a_good_first_guess_takes_few_trials() -> None:
    _, trials = search(lambda rate: rate <= 1000, Bounds(900, 10))
    assert trials <= 14


def test_one_stall_does_not_halve_the_capacity() -> None:
    stalls = iter([True])
    step, _ = search(lambda rate: rate <= 5000 and not next(stalls, False), Bounds(1000, 10))
    assert step.low == pytest.approx(5000, rel=0.03)


def test_occasional_stalls_leave_the_capacity_about_right() -> None:
    generator = np.random.default_rng(111)
    ends = [
        search(lambda rate: rate <= 5000 and generator.random() > 0.1, Bounds(2000, 10))[0].low
        for _ in range(50)
    ]
    assert np.median(ends) == pytest.approx(5000, rel=0.05)


def test_a_server_that_holds_nothing_is_given_up() -> None:
    step, trials = search(lambda rate: False, Bounds(1000, 100))
    assert (step.low, step.high) == (0, 100)
    assert trials < 20


def test_the_search_starts_where_it_is_told() -> None:
    assert next_step([], Bounds(700, 10)).next_rate == 700


def test_the_search_ends_at_the_most_the_client_can_offer() -> None:
    step, _ = search(lambda rate: True, Bounds(1000, 10, highest_rate=4000))
    assert (step.low, step.high) == (4000, np.inf)


@pytest.mark.parametrize(
    "wrong", [{"lowest_rate": 800}, {"highest_rate": 600}, {"growth": 1.0}, {"precision": 0.0}]
)
def test_bounds_make_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be|not in the order"):
        Bounds(**{"first_rate": 700, "lowest_rate": 10, **wrong})
