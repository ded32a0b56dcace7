"""The ratio of the rates of two contenders, with its interval and method."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.pairs import PairFits


@dataclass(frozen=True)
class RatioInterval:
    """Ratio of two geometric mean rates; `low` and `high` hold at `confidence`.

    `confidence` is joint over the pairs and looks that `method` names.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    blocks: int
    invocations: int
    method: str


@dataclass(frozen=True, eq=False)
class DecidedPairs:
    """The pairs that an earlier look at the same race decided, [contender, contender].

    The looks share the error, so what one has shown stays shown (group-sequential Holm, Ye, Li, Liu
    and Yao 2013). An equivalence holds for `margin`.
    """

    separated: npt.NDArray[np.bool_]
    equivalent: npt.NDArray[np.bool_]
    margin: float


@dataclass(frozen=True)
class Ratios:
    """All fitted pairs of a run at one error level.

    The pairs share the error of the level step by step (Holm 1979): a pair that is separated at its
    share leaves it to the others, and the step repeats. The intervals match (Strassburger & Bretz
    2008): those of pairs that are not separated use the share that is left in the end; those of
    separated pairs use the first share, and end at 1 if they would cross it. Pairs in `kept` leave
    their share to the others from the first step on.
    """

    fits: PairFits
    level: ErrorLevel
    kept: DecidedPairs | None = None

    @cached_property
    def level_text(self) -> str:
        """The level in words, which each pair's method repeats."""
        return f"{self.level}{', step by step' if self.level.comparisons > 1 else ''}"

    @cached_property
    def separated(self) -> npt.NDArray[np.bool_]:
        """Whether each pair is separated, [contender, contender]."""
        return self._steps[0]

    @cached_property
    def alpha_left(self) -> float:
        """Two-sided error of one interval of a pair that is not separated."""
        return self._steps[1]

    @cached_property
    def half_width(self) -> Floats:
        """Half widths of the log-ratio intervals, [contender, contender], before the cut at 1."""
        left = self.fits.half_width(self.alpha_left)
        return np.where(self.separated, self.fits.half_width(self.level.alpha), left)

    @cached_property
    def _steps(self) -> tuple[npt.NDArray[np.bool_], float]:
        distance = np.abs(self.fits.log_ratio)
        alpha, separated = self.level.alpha, np.zeros(distance.shape, dtype=bool)
        if self.kept is not None and self.kept.separated.any():
            separated = self.kept.separated.copy()
            alpha = self._alpha_after(separated)
        while True:
            with np.errstate(invalid="ignore"):
                further = distance > self.fits.half_width(alpha)
            if not (further & ~separated).any():
                return separated, alpha
            separated |= further
            alpha = self._alpha_after(separated)

    def _alpha_after(self, separated: npt.NDArray[np.bool_]) -> float:
        """The error of one interval of the pairs that are left."""
        decided = int(np.triu(separated, k=1).sum())
        left = max(self.level.comparisons - decided, 1)
        return self.level.alpha * self.level.comparisons / left

    def interval(self, a: int, b: int) -> RatioInterval:
        """Interval of rate `a` over rate `b`.

        Exactly 1 for a contender and itself. If the two shared too few blocks or invocations,
        `low` is 0 and `high` infinite; if they shared none, `ratio` is NaN.
        """
        log_ratio = 0.0 if a == b else float(self.fits.log_ratio[a, b])
        half_width = 0.0 if a == b else float(self.half_width[a, b])
        known = not math.isnan(half_width)
        low, high = log_ratio - half_width, log_ratio + half_width
        if a != b and self.separated[a, b]:
            low, high = (max(low, 0.0), high) if log_ratio > 0 else (low, min(high, 0.0))
        if a != b and self.kept is not None and self.kept.equivalent[a, b]:
            widest = math.log1p(self.kept.margin)
            low, high = max(low, -widest), min(high, widest)
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
        starts = (
            "start-to-start variance in proportion to slice variance, pooled over all pairs, "
            "or the pair's own if larger"
        )
        pairing = "paired log-ratios by block"
        if self.fits.indirect[a, b]:
            pairing += ", through a third contender that ran with both"
        return f"{pairing}; {starts}; t, {degrees:.1f} df; {self.level_text}"
