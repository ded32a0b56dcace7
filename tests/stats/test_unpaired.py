"""Changes between runs, compared with scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.ranking.change import change


def test_change_is_welchs_interval_of_invocation_means() -> None:
    generator = np.random.default_rng(3)
    first = np.exp(generator.normal(9, 0.05, (4, 6)))
    second = np.exp(generator.normal(9.1, 0.1, (3, 5)))
    welch = stats.ttest_ind(
        np.log(second).mean(axis=1), np.log(first).mean(axis=1), equal_var=False
    ).confidence_interval(0.95)
    result = change(first, second, 0.05)
    assert (result.low, result.high) == pytest.approx((math.exp(welch.low), math.exp(welch.high)))


def test_interval_covers_no_change_at_the_nominal_rate() -> None:
    generator = np.random.default_rng(5)
    false_alarms = 0
    for _ in range(600):
        starts = generator.normal(0, 0.03, (2, 4, 1))
        rates = np.exp(9 + starts + generator.normal(0, 0.05, (2, 4, 3)))
        false_alarms += change(rates[0], rates[1], 0.05).known
    assert false_alarms / 600 < 0.075


def test_ignores_missing_trials_and_rejects_a_side_without_any() -> None:
    rates = np.array([[100.0, np.nan], [np.nan, np.nan], [110.0, 110.0]])
    assert change(rates, 2 * rates, 0.05).ratio == pytest.approx(2)
    with pytest.raises(ValueError, match="no rate to compare"):
        change([[np.nan]], [[1.0]], 0.05)


def test_one_invocation_has_no_interval() -> None:
    result = change([[100.0, 101.0]], [[200.0, 202.0]], 0.05)
    assert result.ratio == pytest.approx(2)
    assert (result.low, result.high, result.known) == (0.0, math.inf, False)


@pytest.mark.parametrize("rate", [100.0, 1000 / 3])
def test_equal_rates_have_not_changed_by_rounding(rate: float) -> None:
    """The means of 4 and of 7 equal logarithms differ in the last bit."""
    result = change(np.full((4, 4), rate), np.full((3, 7), rate), 0.05)
    assert (result.low, result.ratio, result.high) == (1, 1, 1)
    assert not result.known
