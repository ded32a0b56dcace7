"""Distributions: the scaled t, and sums that do not depend on their order."""

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.distributions import falling, t_critical, t_tail
from deadheat.stats.model.variances import scaled_t

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


@pytest.mark.filterwarnings("error")
def test_bug_degenerate_degrees_of_freedom_overflowed() -> None:
    """A pair of a race had 0.02 degrees of freedom: its t was NaN instead of beyond all bounds."""
    few, fewer, none = t_critical(0.0005, [0.1, 0.02, np.nan])
    assert few == pytest.approx(stats.t.isf(0.0005, 0.1), rel=1e-6)
    assert fewer == np.inf
    assert np.isnan(none)


GRID = np.linspace(-16.0, 16.0, 321)


def chi_squared_precision(degrees: float, scale: float) -> np.ndarray:
    """The weights with which a normal error is t-distributed: precision ~ chi-squared."""
    weights = stats.chi2.pdf(degrees * scale * np.exp(-GRID), degrees) * np.exp(-GRID)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("degrees", [2.0, 5.0, 20.0])
def test_a_t_distribution_is_matched_by_itself(degrees: float) -> None:
    squared, matched = scaled_t(chi_squared_precision(degrees, 4.0)[None, :], GRID)
    assert matched[0] == pytest.approx(degrees, rel=0.1)
    assert squared[0] == pytest.approx(4.0, rel=0.05)


def test_the_tails_are_those_of_the_mixture() -> None:
    weights = np.zeros((1, len(GRID)))
    weights[0, [145, 160, 185]] = 0.3, 0.5, 0.2
    deviations = np.exp(GRID[[145, 160, 185]] / 2)
    squared, degrees = scaled_t(weights, GRID)
    for tail in (0.05, 0.0005):
        distance = float(np.sqrt(squared[0]) * t_critical(tail / 2, degrees)[0])
        beyond = 2 * stats.norm.sf(distance / deviations) @ [0.3, 0.5, 0.2]
        assert beyond == pytest.approx(tail, rel=0.1)


def test_bug_a_variance_that_may_be_tiny_took_the_degrees_away() -> None:
    """A variance that may be tiny does not widen the tails."""
    certain, doubtful = np.zeros((2, len(GRID)))
    certain[160] = 1.0
    doubtful[160], doubtful[60] = 0.5, 0.5
    (_, larger), (_, smaller) = (scaled_t(w[None, :], GRID) for w in (certain, doubtful))
    precision = np.array([1.0, np.exp(-GRID[60])])
    by_moments = 2 * precision.mean() ** 2 / precision.var()
    assert by_moments < 2.1
    assert larger[0] > smaller[0] > 5 * by_moments


def test_largest_comes_first() -> None:
    assert falling(np.array([1.0, 3.0, 2.0])).tolist() == [1, 2, 0]
    assert falling(np.array([])).tolist() == []


def test_values_alike_but_for_rounding_keep_their_order() -> None:
    """Regression: the last bit of a library's sum decided who of two equals came first."""
    bit = np.spacing(9.0)
    for first, second in ((9.0, 9.0 + bit), (9.0 + bit, 9.0), (9.0, 9.0)):
        assert falling(np.array([8.0, first, 10.0, second])).tolist() == [2, 1, 3, 0]
