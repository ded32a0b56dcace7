"""The ratio of two contenders' rates, with its interval and how that was made."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deadheat.stats.alpha_spending import Level
from deadheat.stats.distributions import Floats
from deadheat.stats.pairs import PairFits


@dataclass(frozen=True)
class RatioInterval:
    """Ratio of two geometric mean rates; `low` and `high` hold at `confidence`.

    `confidence` is the joint one, as `method` says: over the pairs and looks it names.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    blocks: int
    invocations: int
    method: str


@dataclass(frozen=True)
class Ratios:
    """All fitted pairs of a run, read at one level.

    The level's error is shared over the pairs step by step (Holm 1979): those that are separated at
    their share of all leave theirs to the others, again and again. The intervals go with it
    (Strassburger & Bretz 2008): of a pair that is not separated at the share that is left in the
    end; of one that is, at the first share, cut off at 1 where that would cross it.
    """

    fits: PairFits
    level: Level

    @cached_property
    def separated(self) -> npt.NDArray[np.bool_]:
        """Which pairs differ, [contender, contender]."""
        return self._steps[0]

    @cached_property
    def alpha_left(self) -> float:
        """Two-sided error of one interval of those that are not separated."""
        return self._steps[1]

    @cached_property
    def half_width(self) -> Floats:
        """Half widths of the log-ratio intervals, [contender, contender], before they are cut."""
        left = self.fits.half_width(self.alpha_left)
        return np.where(self.separated, self.fits.half_width(self.level.alpha), left)

    @cached_property
    def _steps(self) -> tuple[npt.NDArray[np.bool_], float]:
        distance = np.abs(self.fits.log_ratio)
        alpha, separated = self.level.alpha, np.zeros(distance.shape, dtype=bool)
        while True:
            with np.errstate(invalid="ignore"):
                further = distance > self.fits.half_width(alpha)
            if not (further & ~separated).any():
                return separated, alpha
            separated |= further
            decided = int(np.triu(separated, k=1).sum())
            left = max(self.level.comparisons - decided, 1)
            alpha = self.level.alpha * self.level.comparisons / left

    def interval(self, a: int, b: int) -> RatioInterval:
        """Interval of rate `a` over rate `b`.

        Exactly 1 for a contender against itself; low 0 and high infinite where the two
        shared too few blocks or invocations, and ratio NaN where they shared none.
        """
        log_ratio = 0.0 if a == b else float(self.fits.log_ratio[a, b])
        half_width = 0.0 if a == b else float(self.half_width[a, b])
        known = not math.isnan(half_width)
        low, high = log_ratio - half_width, log_ratio + half_width
        if a != b and self.separated[a, b]:
            low, high = (max(low, 0.0), high) if log_ratio > 0 else (low, min(high, 0.0))
        return RatioInterval(
            ratio=math.exp(log_ratio),
            low=math.exp(low) if known else 0.0,
            high=math.exp(high) if known else math.inf,
            confidence=self.level.confidence,
            blocks=int(self.fits.blocks[a, b]),
            invocations=int(self.fits.invocations[a, b]),
            method=self._method(a, b),
        )

    def _method(self, a: int, b: int) -> str:
        if a == b:
            return "the same contender"
        degrees = float(self.fits.degrees_of_freedom[a, b])
        if math.isnan(degrees):
            return "no interval: too few blocks or invocations in common"
        if int(self.fits.invocations.max()) > 1:
            starts = (
                "start-to-start variance taken in proportion to slice variance, pooled over all "
                "pairs, or the pair's own where that is larger"
            )
        else:
            starts = "one invocation, so start-to-start variance is not in it"
        pairing = "paired log-ratios by block"
        if self.fits.bridged[a, b]:
            pairing += ", over a third contender that ran with both"
        steps = ", step by step" if self.level.comparisons > 1 else ""
        return f"{pairing}; {starts}; t, {degrees:.1f} df; {self.level}{steps}"
