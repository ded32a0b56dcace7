import numpy as np
import pytest
from scipy import stats

from deadheat.stats.distributions import binomial_bounds, t_critical, t_tail

DEGREES = [0.7, 1, 2, 3.3, 11.2, 57, 1e5]


@pytest.mark.parametrize("tail", [0.499, 0.3, 0.025, 1e-4, 1e-9])
def test_t_critical_matches_scipy(tail: float) -> None:
    expected = stats.t.isf(tail, DEGREES)
    assert t_critical(tail, DEGREES) == pytest.approx(expected, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("t", [-40.0, -1.0, 0.0, 0.01, 2.0, 300.0])
def test_t_tail_matches_scipy(t: float) -> None:
    assert t_tail(t, DEGREES) == pytest.approx(stats.t.sf(t, DEGREES), rel=1e-9)


def test_nan_degrees_give_nan_and_impossible_values_are_rejected() -> None:
    assert np.isnan(t_critical(0.025, [np.nan, 5])).tolist() == [True, False]
    assert np.isnan(t_tail([1, 1], [5, np.nan])).tolist() == [False, True]
    with pytest.raises(ValueError, match="tail probability"):
        t_critical(0.5, 3)
    with pytest.raises(ValueError, match="3 of 2"):
        binomial_bounds(3, 2)


@pytest.mark.parametrize(("hits", "trials"), [(0, 30), (7, 200), (15, 200), (30, 30)])
def test_binomial_bounds_match_scipy(hits: int, trials: int) -> None:
    expected = stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")
    assert binomial_bounds(hits, trials) == pytest.approx((expected.low, expected.high))


@pytest.mark.filterwarnings("error")
def test_bug_degenerate_degrees_of_freedom_overflowed() -> None:
    """A pair of a race had 0.02 degrees of freedom: its t was NaN instead of beyond all bounds."""
    few, fewer, none = t_critical(0.0005, [0.1, 0.02, np.nan])
    assert few == pytest.approx(stats.t.isf(0.0005, 0.1), rel=1e-6)
    assert fewer == np.inf
    assert np.isnan(none)
