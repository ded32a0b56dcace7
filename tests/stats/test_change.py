"""Verdicts on a change, from the interval of head over base."""

import math

import pytest

from deadheat.stats.change import Change, Outcome


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
