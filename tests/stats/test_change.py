"""Verdicts on a change, from the interval of head over base."""

import math

import numpy as np
import pytest

from deadheat.stats.ranking.change import Change, Outcome, asking_slower
from deadheat.stats.ranking.ranks import rank
from tests.stats.races import Noise


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.98, 1.05, Outcome.PASS),
        (1.01, 1.05, Outcome.PASS),
        (0.975, 0.99, Outcome.PASS),  # slower, and by less than the margin
        (0.90, 0.99, Outcome.FAIL),
        (0.90, 1.01, Outcome.INCONCLUSIVE),
        (0.0, math.inf, Outcome.INCONCLUSIVE),
    ],
)
def test_the_interval_decides_the_verdict(low: float, high: float, outcome: Outcome) -> None:
    assert Change(1.0, low, high).judge(margin=0.03) is outcome


def test_a_verdict_takes_as_long_as_it_takes_to_detect_the_margin() -> None:
    """Whatever the present difference is: one time for one question."""
    rates = Noise().rates(np.random.default_rng(1), [0.0, 0.0], invocations=3, blocks=4)
    needed = set()
    for change in (0.98, 1.0, 1.02):
        ranking = rank(rates * [1.0, change], ["base", "head"], margin=0.03)
        (pair,) = asking_slower(ranking, "base", 0.03).pairs
        assert pair.effort is not None
        needed.add(pair.effort.extra_blocks)
    assert len(needed) == 1
    assert needed.pop() > 0
