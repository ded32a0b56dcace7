"""Variances of contenders' instances that learn from each other, with their uncertainty.

A contender has few instances, so its own scatter says little. The variances of all contenders are
taken to scatter around a common one, log-normally; neither the common variance nor the scatter is
taken as known: both are averaged over, each as likely as the data make it (a hierarchical model on
a grid, with flat priors; Gelman et al., Bayesian Data Analysis, 2013, chapter 5). So a race of few
contenders, or of contenders that are not alike, lends little, and its degrees of freedom say so.

The posterior becomes the scaled t with the same tails (`scaled_t`). In simulations (`python -m
bench.model`, stored in docs/results/model.txt) the family-wise error is within chance of 5 %, also
with two instances and with one contender that varies far more than the others; only with fewer than
seven slices an instance it is 8 %. Empirical Bayes (`variance_shrinkage`), which takes the scatter
as known once it is estimated, reaches 15 %.
"""

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.scaled_t import scaled_t

# The deviation of a contender's log variance from the common one. It begins at 0.6: contenders are
# never taken to be more alike than that (variances within a factor of 1.8 of each other).
_SCATTERS = np.array([0.6, 1.0, 1.5, 2.2])
_REACH = np.log(400.0**2)
_GRID = np.linspace(-_REACH, _REACH, 241)
_CENTERS = np.linspace(-_REACH / 2, _REACH / 2, 41)
_LEAST = 1e-6  # of the median variance
# Degrees of freedom are at most twice the contender's own and 1 without any, or those that match
# the moments of the precision, if these are more. A contender of two instances often looks calm by
# chance, and would be lent the certainty of the others.
_LENT = 2.0
_ALONE = 1.0


def learn_variances(variances: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Variances and their degrees of freedom, out of mean squares with `degrees` of their own.

    A contender without degrees gets what the others suggest. No variance is below the contender's
    own mean square: one whose instances differ more than the others' is not lent their calm. With
    no degrees at all, both are NaN.
    """
    informed = np.isfinite(variances) & (degrees > 0)
    if not informed.any():
        return np.full(len(variances), np.nan), np.full(len(variances), np.nan)
    positive = variances[informed & (variances > 0)]
    unit = float(np.median(positive)) if len(positive) else 1.0
    own = np.where(informed, np.maximum(variances / unit, _LEAST), 1.0)
    half = np.where(informed, degrees, 0.0)[:, None] / 2
    log_likelihood = -half * (_GRID + own[:, None] * np.exp(-_GRID))
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    posterior = _posterior(likelihood)
    learned, known = scaled_t(posterior, _GRID)
    learned = np.where(informed, np.maximum(learned, own), learned)
    few = np.maximum(_ALONE, _LENT * np.where(informed, degrees, 0.0))
    return learned * unit, np.minimum(known, np.maximum(few, _by_moments(posterior)))


def _by_moments(posterior: Floats) -> Floats:
    """Degrees of the scaled chi-squared with two moments of the precision (Satterthwaite)."""
    precision = posterior @ np.exp(-_GRID)
    spread = posterior @ np.exp(-2 * _GRID) - precision**2
    unbounded = np.full(len(spread), np.inf)  # where the posterior is all at one point of the grid
    return np.asarray(np.divide(2 * precision**2, spread, out=unbounded, where=spread > 0))


def _posterior(likelihood: Floats) -> Floats:
    """Posterior [contender, grid] of the log variances, averaged over centers and scatters."""
    centers, scatters = np.meshgrid(_CENTERS, _SCATTERS, indexing="ij")
    prior = np.exp(-0.5 * ((_GRID - centers.reshape(-1, 1)) / scatters.reshape(-1, 1)) ** 2)
    prior /= prior.sum(axis=1, keepdims=True)
    evidence = prior @ likelihood.T
    logs = np.log(np.maximum(evidence, 1e-300))
    joint = logs.sum(axis=1)
    weight = np.exp(joint - joint.max())
    weight /= weight.sum()
    each = ((weight[:, None] / np.maximum(evidence, 1e-300)).T @ prior) * likelihood
    return np.asarray(each / each.sum(axis=1, keepdims=True))
