"""Change points of the level of a series."""

import math

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats

_MAD_TO_SIGMA = 1.4826
_CLIP_SIGMAS = 3.0
_LEAST_NOISE = 1e-6  # of the largest value: squares in units of less lose the noise to rounding


def change_points(series: npt.ArrayLike, *, shortest: int = 3) -> tuple[int, ...]:
    """Indices at which a new level begins, in order; empty for a series with one level.

    Minimizes the squared deviations from the segment means, in units of the noise, plus
    3 ln(n) for each change, over all segmentations with segments of at least `shortest`.
    Optimal partitioning (Jackson et al. 2005): the same minimum as PELT (Killick et al.
    2012), whose pruning saves nothing for the few hundred windows of a trial.

    The noise is the median absolute first difference, which level changes hardly affect. A
    lone outlier is clipped to 3 sigma from the running median, so one stall is not a level.
    """
    values = np.asarray(series, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("expected a series: one row of finite numbers")
    n = len(values)
    if n < 2 * shortest:
        return ()
    sigma = max(noise(values), _LEAST_NOISE * (float(np.abs(values).max()) or 1.0))
    return _segment(_without_outliers(values, sigma) / sigma, 3 * math.log(n), shortest)


def noise(values: Floats) -> float:
    """Standard deviation of the noise about a piecewise constant level, from differences."""
    return float(_MAD_TO_SIGMA * np.median(np.abs(np.diff(values))) / math.sqrt(2))


def _without_outliers(values: Floats, sigma: float) -> Floats:
    padded = np.pad(values, 2, mode="reflect")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    return np.clip(values, middle - _CLIP_SIGMAS * sigma, middle + _CLIP_SIGMAS * sigma)


def _segment(values: Floats, penalty: float, shortest: int) -> tuple[int, ...]:
    n = len(values)
    centered = values - values.mean()
    sums = np.concatenate(([0.0], np.cumsum(centered)))
    squares = np.concatenate(([0.0], np.cumsum(centered**2)))
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    previous = np.zeros(n + 1, dtype=int)
    for end in range(shortest, n + 1):
        start = np.arange(0, end - shortest + 1)
        total = sums[end] - sums[start]
        cost = squares[end] - squares[start] - total**2 / (end - start)
        candidates = best[start] + cost + penalty
        previous[end] = int(np.argmin(candidates))
        best[end] = candidates[previous[end]]
    points: list[int] = []
    end = int(previous[n])
    while end > 0:
        points.append(end)
        end = int(previous[end])
    return tuple(reversed(points))
