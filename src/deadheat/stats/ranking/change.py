"""Changes: between two commits in one race, and of contenders from one race to another.

The verdict on a commit says whether the head is slower than the base. One contender in two runs is
compared unpaired, with the invocation as the unit. Contenders of two races in slices are compared
beside the others in both: the machine may have changed between two races, and it changes all rates.
So a contender's log rate is taken less the mean of the others' in the same race, and the change is
the difference of the two. If one of m contenders changes by a factor f, each of the others changes
by f^(-1 / (m - 1)) beside the rest."""

import math
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical, without_rounding
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slices import Indices
from deadheat.stats.ranking.decision import effort_to_detect, effort_until
from deadheat.stats.ranking.ranks import Pair, Ranking


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


def relative_changes(
    first: EffectEstimate, second: EffectEstimate, places: tuple[Indices, Indices], alpha: float
) -> list[UnpairedChange]:
    """The change of each contender beside the others, with t-intervals at 1 - `alpha`.

    `places` has the contenders' indices in each race, in the same order. The variance of a contrast
    follows from those of the pairs. Degrees of freedom: Welch and Satterthwaite, taking all of a
    race's variance as the contender's own, which has fewer degrees than the mean of the others.
    Without an interval, `low` is 0 and `high` infinite. ValueError for fewer than two contenders.
    """
    count = len(places[0])
    if count < 2:
        raise ValueError(f"expected at least two contenders, not {count}")
    contrasts = np.full((count, count), -1 / (count - 1))
    np.fill_diagonal(contrasts, 1.0)
    sides = [
        (
            contrasts @ estimate.log_rate[own],
            _variances(contrasts, estimate.variance[np.ix_(own, own)]),
            _degrees(estimate, own),
        )
        for estimate, own in zip((first, second), places, strict=True)
    ]
    difference = without_rounding(sides[1][0] - sides[0][0])
    variance = sides[0][1] + sides[1][1]
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = variance**2 / sum(own**2 / freedom for _, own, freedom in sides)
    changes = []
    for change, squared, freedom in zip(difference, variance, degrees, strict=True):
        reach = math.inf
        if math.isfinite(squared) and math.isfinite(freedom) and freedom > 0:
            reach = float(t_critical(alpha / 2, freedom)) * math.sqrt(squared)
        changes.append(UnpairedChange(*(_exp(change + step) for step in (0.0, -reach, reach))))
    return changes


def _variances(contrasts: Floats, of_pairs: Floats) -> Floats:
    """Var(sum of a_i x_i) = -1/2 sum of a_i a_j Var(x_i - x_j) for a_i that add up to 0."""
    half = ((contrasts @ of_pairs) * contrasts).sum(axis=1) / 2
    return np.asarray(np.maximum(-half, 0.0))


def _degrees(estimate: EffectEstimate, places: Indices) -> Floats:
    """Those of each contender; NaN if it has no interval beside another one of these."""
    of_pairs = estimate.degrees_of_freedom[np.ix_(places, places)]
    another = ~np.eye(len(places), dtype=bool)
    usable = (np.isfinite(of_pairs) & another).any(axis=1)
    return np.where(usable, estimate.contender_degrees[places], np.nan)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
