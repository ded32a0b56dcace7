"""Where the level of a windowed rate last changed: the rule for warm-up until 2026-11."""

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deadheat.stats.changepoint import change_points
from deadheat.stats.distributions import Floats

_SLOPE_SIGMAS = 3.0


class Kind(StrEnum):
    """The classes of Barrett et al. 2017, for rates: higher is faster."""

    FLAT = "flat"
    WARM_UP = "warm-up"
    SLOWDOWN = "slowdown"
    NONE = "none"


@dataclass(frozen=True)
class Steady:
    """The steady state of a series of windowed rates.

    From window `start` on, for `windows` windows, the rate holds `rate`. For `Kind.NONE`
    these describe the last stretch that is level, however short. `reason` is for the reader.
    """

    kind: Kind
    start: int
    windows: int
    rate: float
    reason: str

    @property
    def is_steady(self) -> bool:
        return self.kind is not Kind.NONE


def classify(rates: npt.ArrayLike, asked: int, *, tolerance: float = 0.05) -> Steady:
    """Classify `rates` (requests/s in equal windows, oldest first), of which `asked` count.

    Levels within `tolerance` of the last are the same level. The last level must hold for at
    least half the windows asked for, without a trend that is both clear (3 standard errors)
    and larger than `tolerance` over its length. Cheap enough to be asked after each window.
    """
    values = np.asarray(rates, dtype=float)
    if asked < 1:
        raise ValueError(f"{asked} windows asked for: there must be at least 1")
    if len(values) == 0:
        return Steady(Kind.NONE, 0, 0, math.nan, "no window yet")
    levels = _levels(values)
    last = levels[-1][1]
    before = list(levels)
    while before and abs(before[-1][1] - last) <= tolerance * last:
        before.pop()
    start = levels[len(before)][0]
    tail = values[start:]
    rate = float(tail.mean())

    needed = math.ceil(asked / 2)
    if len(tail) < needed:
        reason = f"level for {len(tail)} windows, {needed} of {asked} are needed"
        return Steady(Kind.NONE, start, len(tail), rate, reason)
    drift, error = _drift(tail)
    if abs(drift) > max(tolerance, _SLOPE_SIGMAS * error):
        reason = f"drifts by {drift:+.1%} over the last {len(tail)} windows"
        return Steady(Kind.NONE, start, len(tail), rate, reason)
    if not before:
        return Steady(Kind.FLAT, start, len(tail), rate, "one level throughout")
    fastest = max(level for _, level in before)
    if fastest > last * (1 + tolerance):
        reason = f"settled {1 - last / fastest:.1%} below an earlier level"
        return Steady(Kind.SLOWDOWN, start, len(tail), rate, reason)
    return Steady(Kind.WARM_UP, start, len(tail), rate, f"level since window {start}")


def _levels(values: Floats) -> list[tuple[int, float]]:
    """(start, mean) of each segment."""
    edges = (0, *change_points(values), len(values))
    return [(begin, float(values[begin:end].mean())) for begin, end in pairwise(edges)]


def _drift(tail: Floats) -> tuple[float, float]:
    """Fitted change over the tail as a fraction of its mean, and its standard error."""
    n, mean = len(tail), float(tail.mean())
    if n < 3 or mean == 0:
        return 0.0, math.inf
    time = np.arange(n) - (n - 1) / 2
    slope = float(time @ tail / (time @ time))
    residuals = tail - mean - slope * time
    error = math.sqrt(float(residuals @ residuals) / (n - 2) / float(time @ time))
    return slope * n / mean, error * n / mean
