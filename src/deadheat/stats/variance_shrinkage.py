"""Shrinkage of slice variances toward a common one: a few blocks say little about one contender.

Empirical Bayes for variances (Smyth, Linear Models and Empirical Bayes Methods, 2004, section 6).
True variances are assumed to scatter around a common one as scaled inverse chi-squares with `prior`
degrees of freedom. The prior is estimated from how much more the observed variances scatter than
chance explains. Center and scatter are a median and a median deviation, so that one very noisy
contender does not remove the prior for all others (Phipson et al. 2016 use trimmed moments).

A contender whose own variance is larger than the moderated one keeps its own.
"""

import math

import numpy as np

from deadheat.stats.distributions import Floats

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
