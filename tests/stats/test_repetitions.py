"""Repetitions of servers that run alone: their spread, and a trend."""

import math

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.repetitions import best_of_bias, differ, trend, typical

RATES = [100.0, 108.0, 97.0, 103.0, 101.0]


def test_typical_is_the_t_interval_of_logarithms() -> None:
    result = typical(RATES)
    assert result is not None
    logs = np.log(RATES)
    low, high = stats.t.interval(0.95, 4, loc=logs.mean(), scale=stats.sem(logs))
    assert result.mean == pytest.approx(stats.gmean(RATES))
    assert result.low == pytest.approx(math.exp(low))
    assert result.high == pytest.approx(math.exp(high))


def test_one_repetition_has_no_interval() -> None:
    assert typical([100.0]) is None
    assert typical([100.0, 0.0]) is None
    assert differ([1.0], RATES) is None


@pytest.mark.parametrize("shift", [1.0, 1.02, 1.05, 1.1, 1.5])
def test_differ_is_welchs_test(shift: float) -> None:
    other = [rate * shift for rate in [99.0, 104.0, 95.0]]
    p = stats.ttest_ind(RATES, other, equal_var=False).pvalue
    assert differ(RATES, other) is bool(p < 0.05)
    assert differ([1.0, 1.0], [shift, shift]) is (shift != 1), "without scatter"


@pytest.mark.parametrize(("n", "bias"), [(1, 0.0), (2, 1 / math.sqrt(math.pi)), (5, 1.16296)])
def test_best_of_bias_matches_known_values(n: int, bias: float) -> None:
    assert best_of_bias(n) == pytest.approx(bias, abs=1e-5)
    with pytest.raises(ValueError, match="best of 0"):
        best_of_bias(0)


TOMCAT_6 = [3674.0, 3203.0, 477.0, 5.0, 0.0]


def test_slope_is_least_squares_with_students_interval() -> None:
    result = trend(TOMCAT_6)
    assert result is not None
    line = stats.linregress(range(5), np.array(TOMCAT_6) / TOMCAT_6[0])
    assert result.per_step == pytest.approx(line.slope)
    assert result.high - result.per_step == pytest.approx(stats.t.ppf(0.975, 3) * line.stderr)
    assert result.high < 0


def test_a_level_or_short_series_or_one_from_zero_has_no_trend() -> None:
    level = trend([100, 101, 99, 100.5, 99.5])
    assert level is not None
    assert level.low < 0 < level.high
    assert trend([2.0, 1.0]) is None
    assert trend([0.0, 1.0, 2.0]) is None
