"""The ratio of two contenders' rates, with its interval and how that was made."""

import math
from dataclasses import dataclass
from functools import cached_property

from deadheat.stats.pairs import PairFits
from deadheat.stats.quantile import Floats
from deadheat.stats.sequence import Level


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
    """All fitted pairs of a run, read at one level."""

    fits: PairFits
    level: Level

    @cached_property
    def half_width(self) -> Floats:
        """Half widths of the log-ratio intervals, [contender, contender]."""
        return self.fits.half_width(self.level.alpha)

    def interval(self, a: int, b: int) -> RatioInterval:
        """Interval of rate `a` over rate `b`.

        Exactly 1 for a contender against itself; low 0 and high infinite where the two
        shared too few blocks or invocations, and ratio NaN where they shared none.
        """
        log_ratio = 0.0 if a == b else float(self.fits.log_ratio[a, b])
        half_width = 0.0 if a == b else float(self.half_width[a, b])
        known = not math.isnan(half_width)
        return RatioInterval(
            ratio=math.exp(log_ratio),
            low=math.exp(log_ratio - half_width) if known else 0.0,
            high=math.exp(log_ratio + half_width) if known else math.inf,
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
        return f"{pairing}; {starts}; t, {degrees:.1f} df; {self.level}"
