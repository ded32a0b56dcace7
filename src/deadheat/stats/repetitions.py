"""A few repetitions of one figure: what is typical, whether two differ, what the best flatters."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import NORMAL, t_critical, t_tail

_STEPS = 4000  # of the integral below: exact to six digits up to n = 100
_REACH = 9.0


@dataclass(frozen=True)
class Typical:
    """The geometric mean of repetitions with its interval."""

    mean: float
    low: float
    high: float


def typical(rates: Sequence[float], confidence: float = 0.95) -> Typical | None:
    """Student's interval of the mean logarithm; None for fewer than two positive rates.

    It holds for one process on one day: repetitions of a single start share its memory layout and
    its compiled code (Kalibera & Jones 2013).
    """
    if len(rates) < 2 or min(rates) <= 0:
        return None
    logs = [math.log(rate) for rate in rates]
    centre = statistics.fmean(logs)
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    reach = float(t_critical((1 - confidence) / 2, len(logs) - 1)) * error
    return Typical(math.exp(centre), math.exp(centre - reach), math.exp(centre + reach))


def differ(first: Sequence[float], second: Sequence[float], level: float = 0.05) -> bool | None:
    """Whether two means differ by Welch's test (Welch 1947), two-sided, uncorrected.

    None where either has fewer than two repetitions; of equal repetitions the means decide.
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [statistics.variance(rates) / len(rates) for rates in (first, second)]
    apart = abs(statistics.fmean(first) - statistics.fmean(second))
    if sum(parts) == 0:
        return apart > 0
    # Satterthwaite 1946
    degrees = sum(parts) ** 2 / sum(
        part**2 / (len(rates) - 1) for part, rates in zip(parts, (first, second), strict=True)
    )
    return bool(2 * float(t_tail(apart / math.sqrt(sum(parts)), degrees)) < level)


def best_of_bias(n: int) -> float:
    """By how many standard deviations the best of `n` lies above the mean, on average.

    The expected largest of n standard normals (Tippett 1925): 0.85 for 3, 1.16 for 5, 1.27 for 6.
    """
    if n < 1:
        raise ValueError(f"the best of {n}: at least 1 is needed")
    x = np.linspace(-_REACH, _REACH, _STEPS + 1)
    below = np.array([NORMAL.cdf(value) for value in x])
    density = np.array([NORMAL.pdf(value) for value in x])
    return float((x * n * density * below ** (n - 1)).sum() * (x[1] - x[0]))
