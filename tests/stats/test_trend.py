import numpy as np
import pytest
from scipy import stats

from deadheat.stats.repetitions import trend

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
