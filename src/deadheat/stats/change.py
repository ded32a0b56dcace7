"""The verdict on a change: is the head slower than the base?"""

import math
from dataclasses import dataclass, replace
from enum import IntEnum

from deadheat.stats.decision import effort_to_detect, effort_until
from deadheat.stats.ranking import Pair, Ranking


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


def asking_slower(ranking: Ranking, base: str, margin: float) -> Ranking:
    """The ranking with the efforts that verdicts on changes of `base` need.

    An undecided pair needs as much as a race that detects a change of the margin. One that does,
    and is undecided, needs more: until its interval lies on one side of 1 or of the margin.
    """
    return replace(ranking, pairs=tuple(_asking_slower(p, base, margin) for p in ranking.pairs))


def _asking_slower(pair: Pair, base: str, margin: float) -> Pair:
    if pair.outlook is None or base not in (pair.faster, pair.slower):
        return pair
    effort = effort_to_detect(pair.outlook, margin)
    if not effort.extra_blocks:
        change = pair.outlook.log_ratio * (-1 if pair.faster == base else 1)
        effort = effort_until(pair.outlook, max(math.log1p(margin) + change, -change))
    return replace(pair, effort=effort)
