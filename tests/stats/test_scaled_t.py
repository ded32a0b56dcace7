"""The scaled t that stands for a normal error of uncertain variance."""

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.distributions import t_critical
from deadheat.stats.model.variances import scaled_t

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
