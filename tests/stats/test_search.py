"""Search for the highest rate that holds an objective, with and without stalls."""

from collections.abc import Callable

import numpy as np
import pytest

from deadheat.campaign.capacity import Observation, SearchStep, next_step


def search(
    holds: Callable[[float], bool], first: float, lowest: float = 10
) -> tuple[SearchStep, int]:
    """The last step of a complete search, and its number of trials."""
    observations: list[Observation] = []
    while (step := next_step(observations, first, lowest)).next_rate is not None:
        observations.append(Observation(step.next_rate, holds(step.next_rate)))
        assert len(observations) < 100
    return step, len(observations)


@pytest.mark.parametrize("capacity", [37.0, 1000.0, 52_345.0])
@pytest.mark.parametrize("first", [20.0, 1000.0, 90_000.0])
def test_brackets_the_capacity_within_the_precision(capacity: float, first: float) -> None:
    step, _ = search(lambda rate: rate <= capacity, first)
    assert step.low <= capacity < step.high
    assert step.high / step.low <= 1.02


def test_good_first_guess_takes_few_trials() -> None:
    _, trials = search(lambda rate: rate <= 1000, 900)
    assert trials <= 14


def test_one_stall_does_not_lower_the_capacity() -> None:
    stalls = iter([True])
    step, _ = search(lambda rate: rate <= 5000 and not next(stalls, False), 1000)
    assert step.low == pytest.approx(5000, rel=0.03)


def test_occasional_stalls_barely_change_the_capacity() -> None:
    generator = np.random.default_rng(111)
    ends = [
        search(lambda rate: rate <= 5000 and generator.random() > 0.1, 2000)[0].low
        for _ in range(50)
    ]
    assert np.median(ends) == pytest.approx(5000, rel=0.05)


def test_gives_up_if_no_rate_holds() -> None:
    step, trials = search(lambda rate: False, 1000, 100)
    assert (step.low, step.high) == (0, 100)
    assert trials < 20


def test_search_starts_at_the_first_rate() -> None:
    assert next_step([], 700, 10).next_rate == 700
