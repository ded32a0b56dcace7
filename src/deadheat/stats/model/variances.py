"""Variances that learn from each other: of instances, and of slices.

**Of instances** (`learn_variances`), with their uncertainty. A contender has few instances, so its
own scatter says little. The variances of all contenders are taken to scatter around a common one,
log-normally; neither the common variance nor the scatter is taken as known: both are averaged over,
each as likely as the data make it (a hierarchical model on a grid, with flat priors; Gelman et al.,
Bayesian Data Analysis, 2013, chapter 5). So a race of few contenders, or of contenders that are not
alike, lends little, and its degrees of freedom say so.

The posterior becomes the scaled t with the same tails (`scaled_t`). In simulations (`python -m
bench.model`, stored in docs/results/model.txt) the family-wise error is within chance of 5 %, also
with two instances and with one contender that varies far more than the others; only with fewer than
seven slices an instance it is 8 %. Empirical Bayes, as below, which takes the scatter
as known once it is estimated, reaches 15 %.

`scaled_t` has the tails of a normal one whose variance is uncertain.

Two tail probabilities fix its scale and its degrees of freedom: that of one comparison at 95 %, and
that of one among a hundred. Matching two moments of the precision instead (Satterthwaite) takes a
variance that may be tiny for one that may be huge, and gives far too few degrees.

**Of slices** (`moderate`): empirical Bayes (Smyth, Linear Models and Empirical Bayes Methods, 2004,
section 6). True variances are assumed to scatter around a common one as scaled inverse chi-squares
with `prior` degrees of freedom. The prior is estimated from how much more the observed variances
scatter than chance explains. Center and scatter are a median and a median deviation, so that one
very noisy contender does not remove the prior for all others (Phipson et al. 2016 use trimmed
moments).

A contender whose own variance is larger than the moderated one keeps its own.
"""

import functools
import math

import numpy as np

from deadheat.stats.distributions import Floats, t_critical

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


_TAILS = (0.05, 0.0005)  # two-sided
_DISTANCES = np.exp(np.linspace(-9.0, 10.0, 500))  # of an error, in units of the variances' root
_DEGREES = np.geomspace(0.3, 1000.0, 400)


def scaled_t(weights: Floats, log_variances: Floats) -> tuple[Floats, Floats]:
    """Squared scales and degrees of freedom, one for each row of `weights`.

    `weights` [row, grid] are the probabilities of the `log_variances` [grid]; each row sums to 1.
    The scale is right to about 1 %; degrees are at least 0.3 and at most 1000.
    """
    beyond = weights @ _beyond(log_variances.tobytes())
    near, far = (_crossing(beyond, tail) for tail in _TAILS)
    near_t, far_t = _criticals()
    log_degrees = np.log(_DEGREES)
    falling = np.log(near_t / far_t)  # with more degrees, the far tail comes nearer
    matched = np.interp(near - far, falling, log_degrees)
    scale = np.exp(near) / np.interp(matched, log_degrees, near_t)
    return scale**2, np.exp(matched)


@functools.cache
def _criticals() -> tuple[Floats, Floats]:
    """Student's t at both tails, for each of the degrees."""
    near, far = (t_critical(tail / 2, _DEGREES) for tail in _TAILS)
    return near, far


@functools.cache
def _beyond(log_variances: bytes) -> Floats:
    """[grid, distance]: the probability of a normal error beyond each distance, on both sides."""
    from scipy import special  # it takes long to import

    deviations = np.exp(np.frombuffer(log_variances) / 2)
    standard = _DISTANCES / deviations[:, None] / math.sqrt(2)
    return np.asarray(special.erfc(standard), dtype=float)


def _crossing(beyond: Floats, tail: float) -> Floats:
    """The log of the distance at which each row's probability falls to `tail`."""
    logs = -np.log(np.maximum(beyond, 1e-300))
    distances = np.log(_DISTANCES)
    return np.array([np.interp(-math.log(tail), row, distances) for row in logs])


FEWEST_CONTENDERS = 4
_TO_DEVIATION = 1.4826  # of a normal distribution, from the median of the absolute deviations
_LEAST_SHARE = 0.05  # of the mean variance; an estimate below it is noise
_STEPS = 80


def contender_variances(within: Floats) -> Floats:
    """The variance of each contender, from the variances of all differences [a, b].

    The variance of a difference is the sum of two variances, solved by least squares (Grubbs 1948,
    On Estimating Precision of Measuring Instruments). NaN for a contender without a pair.
    """
    count = len(within)
    others = np.where(np.eye(count, dtype=bool), np.nan, within)
    met = np.isfinite(others).any(axis=1)
    rows = np.full(count, np.nan)
    rows[met] = np.nanmean(others[met], axis=1)
    mean = float(np.nanmean(others)) / 2
    return np.fmax(((count - 1) * rows - count * mean) / (count - 2), _LEAST_SHARE * mean)


def moderate(variances: Floats, degrees: Floats, most: float) -> tuple[Floats, float]:
    """Moderated variances of all contenders, and the prior's degrees of freedom.

    `degrees` belong to the variances; `most` bounds those of the prior. Too few variances are
    returned unchanged, with a prior of 0.
    """
    from scipy import special  # it takes long to import

    usable = np.isfinite(variances) & (variances > 0) & (degrees > 0)
    if usable.sum() < FEWEST_CONTENDERS:
        return variances, 0.0
    observed, half = variances[usable], degrees[usable] / 2
    logs = np.log(observed) - special.digamma(half) + np.log(half)
    center = float(np.median(logs))
    scatter = (_TO_DEVIATION * float(np.median(np.abs(logs - center)))) ** 2
    excess = scatter - float(np.mean(special.polygamma(1, half)))
    prior = min(2 * inverse_trigamma(excess), most) if excess > 0 else most
    common = math.exp(center + float(special.digamma(prior / 2)) - math.log(prior / 2))
    with np.errstate(invalid="ignore"):
        moderated = (prior * common + degrees * variances) / (prior + degrees)
    return np.fmax(moderated, variances), prior


def inverse_trigamma(value: float) -> float:
    """The x > 0 with trigamma(x) = value, by bisection on logs; trigamma falls throughout."""
    from scipy import special

    low, high = 1e-4, 1e8
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if special.polygamma(1, middle) > value else (low, middle)
    return math.sqrt(low * high)
