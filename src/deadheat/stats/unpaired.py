"""Comparison of one contender in two runs: unpaired, with the invocation as the unit."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.rounding import without_rounding


@dataclass(frozen=True)
class UnpairedChange:
    """Ratio of the second geometric mean to the first; `low` 0 and `high` infinite if unknown."""

    ratio: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """There is an interval, and it excludes 1."""
        return self.low > 1 or self.high < 1


def change(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float) -> UnpairedChange:
    """Welch's t-interval (1947) of the log-ratio of two samples of rates, at 1 - `alpha`.

    `first` and `second` are rates[invocation, block]; NaN marks a missing trial. The mean over the
    blocks of an invocation is one observation, because starts scatter more than slices. Fewer than
    two invocations on either side give no interval. Raises ValueError for a side without a rate.
    """
    sides = [_means(first), _means(second)]
    difference = float(without_rounding(sides[1].mean() - sides[0].mean()))
    if min(len(side) for side in sides) < 2:
        return UnpairedChange(math.exp(difference), 0.0, math.inf)
    spreads = [without_rounding(side - side.mean()) for side in sides]
    parts = [float((d**2).sum()) / (len(d) - 1) / len(d) for d in spreads]
    variance = sum(parts)
    if variance == 0:
        return UnpairedChange(math.exp(difference), math.exp(difference), math.exp(difference))
    degrees = variance**2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True)
    )
    reach = float(t_critical(alpha / 2, degrees)) * math.sqrt(variance)
    return UnpairedChange(*(math.exp(difference + step) for step in (0.0, -reach, reach)))


def _means(rates: npt.ArrayLike) -> Floats:
    logs = np.log(np.asarray(rates, dtype=float))
    measured = logs[np.isfinite(logs).any(axis=1)]
    if not len(measured):
        raise ValueError("no rate to compare: expected at least one")
    return np.asarray(np.nanmean(measured, axis=1))
