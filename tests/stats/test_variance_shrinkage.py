"""Moderated variances."""

import numpy as np
import pytest
from scipy.special import polygamma

from deadheat.stats.model.variances import inverse_trigamma, moderate

CONTENDERS = 8
DEGREES = 6


def observed(true: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample variances [contender, contender] with `DEGREES` degrees of freedom."""
    chi2 = np.random.default_rng(seed).chisquare(DEGREES, true.shape) / DEGREES
    variances = np.triu(true * chi2, k=1)
    return variances + variances.T, np.full(true.shape, float(DEGREES))


@pytest.mark.parametrize("x", [0.1, 1.0, 3.7, 250.0])
def test_inverse_trigamma_inverts_trigamma(x: float) -> None:
    assert inverse_trigamma(float(polygamma(1, x))) == pytest.approx(x, rel=1e-6)


def test_equal_variances_give_a_strong_prior() -> None:
    priors = [moderate(*observed(np.ones((8, 8)), seed), most=42)[1] for seed in range(30)]
    assert np.median(priors) > 2 * DEGREES


def test_different_variances_give_a_weak_prior() -> None:
    spread = np.exp(np.random.default_rng(1).normal(0, 2, (CONTENDERS, CONTENDERS)))
    priors = [moderate(*observed(spread, seed), most=42)[1] for seed in range(30)]
    assert np.median(priors) < DEGREES


def test_prior_is_bounded() -> None:
    same = np.ones((CONTENDERS, CONTENDERS))
    assert moderate(same, np.full(same.shape, 6.0), most=42)[1] == 42


def test_only_small_variances_are_moderated() -> None:
    variances, degrees = observed(np.ones((CONTENDERS, CONTENDERS)), 3)
    moderated, prior = moderate(variances, degrees, most=42)
    assert prior > 0
    assert np.all(moderated >= variances)
    upper = np.triu_indices(CONTENDERS, k=1)
    calmest = np.argmin(variances[upper])
    assert moderated[upper][calmest] > variances[upper][calmest]


def test_too_few_variances_stay_unchanged() -> None:
    variances = np.array([2.0, 1.0, 3.0])
    moderated, prior = moderate(variances, np.full(3, 4.0), most=10)
    assert prior == 0
    assert moderated is variances
