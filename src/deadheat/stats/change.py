"""The verdict on a change: is the head slower than the base?"""

import math
from dataclasses import dataclass
from enum import IntEnum

from deadheat.stats.ranking import Ranking


class Outcome(IntEnum):
    """The verdict; the largest of several is the worst."""

    PASS = 0
    INCONCLUSIVE = 1
    FAIL = 2


@dataclass(frozen=True, slots=True)
class Change:
    """The head's rate over the base's, with its interval."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, ranking: Ranking, base: str, head: str) -> "Change":
        """Raises `KeyError` where one of the two is not ranked."""
        pair = ranking.pair(base, head)
        ratio, low, high = pair.ratio.ratio, pair.ratio.low, pair.ratio.high
        if pair.faster == base:
            ratio, low, high = 1 / ratio, 1 / high if high else math.inf, 1 / low if low else 0.0
        return cls(ratio, low, high)

    def judge(self, margin: float) -> Outcome:
        """PASS if a slowdown of more than the margin is ruled out, FAIL if all of it is below 1.

        The first is a one-sided test of non-inferiority. What is neither is INCONCLUSIVE.
        """
        if self.low > 1 / (1 + margin):
            return Outcome.PASS
        return Outcome.FAIL if self.high < 1 else Outcome.INCONCLUSIVE
