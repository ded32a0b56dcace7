"""The trend of a short series, with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import t_critical

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
