"""A few repetitions of one figure: mean, trend, a test of two means, the bias of the best."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import NORMAL, t_critical, t_tail

_STEPS = 4000  # of the integral below: six exact digits up to n = 100
_REACH = 9.0


@dataclass(frozen=True)
class Typical:
    """The geometric mean of repetitions with its interval."""

    mean: float
    low: float
    high: float


def typical(rates: Sequence[float], confidence: float = 0.95) -> Typical | None:
    """Student's interval of the mean logarithm; None for fewer than two positive rates.

    It holds for one process on one day: repetitions in one process share its memory layout and
    its compiled code (Kalibera & Jones 2013).
    """
    if len(rates) < 2 or min(rates) <= 0:
        return None
    logs = [math.log(rate) for rate in rates]
    center = statistics.fmean(logs)
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    reach = float(t_critical((1 - confidence) / 2, len(logs) - 1)) * error
    return Typical(math.exp(center), math.exp(center - reach), math.exp(center + reach))


def differ(first: Sequence[float], second: Sequence[float], level: float = 0.05) -> bool | None:
    """Whether two means differ by Welch's test (Welch 1947), two-sided, uncorrected.

    None if either has fewer than two repetitions. Without any scatter, the means are compared.
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [statistics.variance(rates) / len(rates) for rates in (first, second)]
    difference = abs(statistics.fmean(first) - statistics.fmean(second))
    if sum(parts) == 0:
        return difference > 0
    # Satterthwaite 1946
    degrees = sum(parts) ** 2 / sum(
        part**2 / (len(rates) - 1) for part, rates in zip(parts, (first, second), strict=True)
    )
    return bool(2 * float(t_tail(difference / math.sqrt(sum(parts)), degrees)) < level)


def best_of_bias(n: int) -> float:
    """Expected distance of the best of `n` above the mean, in standard deviations.

    The expected largest of n standard normals (Tippett 1925): 0.85 for 3, 1.16 for 5, 1.27 for 6.
    """
    if n < 1:
        raise ValueError(f"the best of {n}: expected at least 1")
    x = np.linspace(-_REACH, _REACH, _STEPS + 1)
    below = np.array([NORMAL.cdf(value) for value in x])
    density = np.array([NORMAL.pdf(value) for value in x])
    return float((x * n * density * below ** (n - 1)).sum() * (x[1] - x[0]))


_FEWEST = 3


@dataclass(frozen=True)
class Trend:
    """Change per step, in units of the first value; `low` and `high` are its interval."""

    per_step: float
    low: float
    high: float


def trend(values: Sequence[float], confidence: float = 0.95) -> Trend | None:
    """Least-squares slope with Student's interval, over the first value.

    The fit is linear rather than on logarithms, to allow a value of 0. None for fewer than three
    values, or if the first is not positive. The interval treats deviations from the line as
    independent, so a sudden drop widens it, as intended.
    """
    if len(values) < _FEWEST or values[0] <= 0:
        return None
    y = np.asarray(values, dtype=float) / values[0]
    x = np.arange(len(y)) - (len(y) - 1) / 2
    spread = float(x @ x)
    slope = float(x @ y) / spread
    residuals = y - y.mean() - slope * x
    error = math.sqrt(float(residuals @ residuals) / (len(y) - 2) / spread)
    reach = float(t_critical((1 - confidence) / 2, len(y) - 2)) * error
    return Trend(slope, slope - reach, slope + reach)
