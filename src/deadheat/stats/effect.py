"""The smallest difference that a run can detect."""

import math

import numpy as np

from deadheat.stats.distributions import Floats, t_critical, t_tail
from deadheat.stats.pairs import PairFits


def detectable_ratio(fits: PairFits, alpha: float, power: float = 0.8) -> Floats:
    """Minimum detectable ratio of every pair, minus 1: 0.02 is a difference of 2 %.

    (t[1 - alpha/2] + t[power]) standard errors, on logs: the true difference that a
    two-sided test at `alpha` detects with probability `power`. Matrix [contender, contender];
    infinite where the degrees of freedom are too few for the ratio to be a float.
    """
    if not 0.5 < power < 1:
        raise ValueError(f"power {power}: expected a number between 0.5 and 1")
    reach = t_critical(alpha / 2, fits.degrees_of_freedom)
    reach = reach + t_critical(1 - power, fits.degrees_of_freedom)
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(reach * fits.standard_error))


def minimum_detectable_effect(fits: PairFits, alpha: float, power: float = 0.8) -> float:
    """The figure for a run: the median of `detectable_ratio` over its pairs; NaN without pairs."""
    upper = np.triu_indices(fits.contenders, k=1)
    ratios = detectable_ratio(fits, alpha, power)[upper]
    ratios = ratios[np.isfinite(ratios)]
    return float(np.median(ratios)) if ratios.size else math.nan


def power(fits: PairFits, ratio: float, alpha: float) -> Floats:
    """Probability that a run like this one separates a pair whose true ratio is `ratio`.

    The shifted-t approximation to the noncentral t; matrix [contender, contender].
    """
    shift = abs(math.log(ratio)) / fits.standard_error
    return t_tail(t_critical(alpha / 2, fits.degrees_of_freedom) - shift, fits.degrees_of_freedom)
