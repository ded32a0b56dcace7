import numpy as np
import pytest
from scipy import stats

from deadheat.stats.trend import trend

TOMCAT_6 = [3674.0, 3203.0, 477.0, 5.0, 0.0]


def test_it_is_the_least_squares_slope_with_students_interval() -> None:
    found = trend(TOMCAT_6)
    assert found is not None
    line = stats.linregress(range(5), np.array(TOMCAT_6) / TOMCAT_6[0])
    assert found.per_step == pytest.approx(line.slope)
    assert found.high - found.per_step == pytest.approx(stats.t.ppf(0.975, 3) * line.stderr)
    assert found.high < 0


def test_a_level_series_has_no_trend() -> None:
    found = trend([100, 101, 99, 100.5, 99.5])
    assert found is not None
    assert found.low < 0 < found.high


def test_too_few_or_no_first_value() -> None:
    assert trend([2.0, 1.0]) is None
    assert trend([0.0, 1.0, 2.0]) is None
