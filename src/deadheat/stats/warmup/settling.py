"""Was an instance still settling while it was measured? Which of its early slices do not count?"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deadheat import numbers
from deadheat.stats.distributions import Floats

SLICES_MIN = 16
BATCHES_MIN, BATCHES_MAX = 8, 12
_REST_BATCHES = 2  # the least after a cut
_CLIP_SIGMAS = 3.0
_MAD_TO_SIGMA = 1.4826
_DRAWS = 20_000
_PLACE_DEVIANCE = 4.0  # about 95 % for where the cut lies: chi squared of 1 degree


@dataclass(frozen=True, slots=True)
class Settling:
    """What an instance's slices show, in the order in which they were measured.

    The first `excluded` do not count. `settled` is False where the rate still moves in those that
    remain: the instance needs more work before it counts. `change` is the log ratio of what counts
    to what was excluded: above 0 it climbed, below it sank; 0 where nothing was excluded.
    """

    excluded: int
    settled: bool
    change: float
    reason: str


def settling(
    rates: npt.ArrayLike,
    reference: npt.ArrayLike | None = None,
    *,
    error: float = 0.03,
    change_min: float = 0.03,
) -> Settling:
    """Judge the slices of one instance: `rates` in requests/s, oldest first.

    `reference` is what the machine did at the time of each slice: the geometric mean of the rates
    of the controls, or of the other contenders, in the same round, each relative to its mean.
    None where there is neither. Slices without a right answer or a reference are not tested.

    Log ratios, drawn in to 3 sigma of their local median, are averaged in 8 to 12 batches of
    successive slices. Each cut between batches is tested for a change of the mean (Student's t,
    pooled variance); `error` is the probability that the largest of these is found where nothing
    changes, for independent normal batches (simulated; Worsley 1979). A cut counts if the means
    differ by at least `change_min` as well. It is put at the last place that fits nearly as well
    as the best.

    What comes before the cut is excluded, and the rest is tested again until nothing is found. One
    more batch is excluded, since the change may lie within it. At most half of the slices are
    excluded: an instance that moves after that has not settled.

    Raises `ValueError` for arrays that do not match, and for negative rates.
    """
    values = np.asarray(rates, dtype=float)
    beside = np.ones_like(values) if reference is None else np.asarray(reference, dtype=float)
    if values.ndim != 1 or values.shape != beside.shape:
        raise ValueError(f"{values.shape} rates and {beside.shape} references: one row each")
    if np.any(values < 0):
        raise ValueError("a rate is not below 0")
    usable = np.flatnonzero((values > 0) & np.isfinite(beside) & (beside > 0))
    logs = np.log(values[usable] / beside[usable])
    logs = _without_outliers(logs)
    begin, change = 0, 0.0
    while (cut := _cut(logs[begin:], error, change_min)) is not None:
        begin += cut
        change = float(logs[begin:].mean() - logs[:begin].mean())
        if begin > len(logs) // 2:
            break
    half = len(logs) // 2
    settled = begin <= half
    if begin:  # the change may lie within the batch that follows the cut
        begin = min(begin + math.ceil(len(logs) / BATCHES_MAX), half)
    excluded = int(usable[begin]) if begin else 0
    return Settling(excluded, settled, change, _reason(excluded, settled, change, len(logs)))


def _reason(excluded: int, settled: bool, change: float, slices: int) -> str:
    if slices < SLICES_MIN:
        return f"{slices} slices are too few to tell"
    if excluded == 0:
        return "no change over its slices"
    how = "climbed" if change > 0 else "sank"
    text = (
        f"{how} by {numbers.percent(abs(math.expm1(change)), 0)} after the first {excluded} slices"
    )
    return text if settled else f"{text} and still moves"


def _cut(logs: Floats, error: float, change_min: float) -> int | None:
    """The slice at which a new level begins; None where no change is shown."""
    slices = len(logs)
    if slices < SLICES_MIN:
        return None
    batches = min(BATCHES_MAX, max(BATCHES_MIN, slices // 2))
    edges = np.linspace(0, slices, batches + 1).round().astype(int)
    means = np.add.reduceat(logs, edges[:-1]) / np.diff(edges)
    statistics = _statistics(means[None, :])[0]
    best = int(np.argmax(statistics))
    if statistics[best] <= _critical(batches, error):
        return None
    if abs(means[best + 1 :].mean() - means[: best + 1].mean()) < change_min:
        return None
    return int(edges[_last_place(statistics, best, batches) + 1])


def _last_place(statistics: Floats, best: int, batches: int) -> int:
    """The last cut in the confidence set around the best (likelihood ratio: Hinkley 1970).

    The residual sum of squares of a cut is the total over 1 + t^2 / (batches - 2).
    """
    share = 1 / (1 + statistics**2 / (batches - 2))
    allowed = share[best] * (1 + _PLACE_DEVIANCE / (batches - 2))
    last = best
    while last + 1 < len(share) and share[last + 1] <= allowed:
        last += 1
    return last


def _statistics(means: Floats) -> Floats:
    """|t| for a change of the mean after each column but the last two, row by row."""
    batches = means.shape[1]
    before = np.arange(1, batches - _REST_BATCHES + 1)
    after = batches - before
    sums = np.cumsum(means, axis=1)
    squares = np.cumsum(means**2, axis=1)
    early = sums[:, : len(before)]
    late = sums[:, -1:] - early
    difference = late / after - early / before
    within = squares[:, -1:] - early**2 / before - late**2 / after
    variance = np.maximum(within, 1e-18) / (batches - 2) * (1 / before + 1 / after)
    return np.asarray(np.abs(difference) / np.sqrt(variance))


@lru_cache(maxsize=64)
def _critical(batches: int, error: float) -> float:
    """The value that the largest statistic exceeds with probability `error` if nothing changes."""
    draws = np.random.default_rng(batches).standard_normal((_DRAWS, batches))
    return float(np.quantile(_statistics(draws).max(axis=1), 1 - error))


def _without_outliers(logs: Floats) -> Floats:
    """A disturbed slice is drawn in to 3 sigma of the median of the seven around it."""
    if len(logs) < SLICES_MIN:
        return logs
    inner = np.median(np.lib.stride_tricks.sliding_window_view(logs, 7), axis=1)
    middle = np.pad(inner, 3, mode="edge")
    sigma = _MAD_TO_SIGMA * float(np.median(np.abs(logs - middle)))
    return np.clip(logs, middle - _CLIP_SIGMAS * sigma, middle + _CLIP_SIGMAS * sigma)
