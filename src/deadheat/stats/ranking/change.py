"""Changes: between two commits in one race, and of contenders from one race to another.

The verdict on a commit says whether the head is slower than the base. One contender in two runs is
compared unpaired, with the invocation as the unit. Contenders of two races in slices are compared
beside the others in both: the machine may have changed between two races, and it changes all rates.
So a contender's log rate is taken less the mean of the others' in the same race, and the change is
the difference of the two. If one of m contenders changes by a factor f, each of the others changes
by f^(-1 / (m - 1)) beside the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical, without_rounding
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slices import Indices
from deadheat.stats.model.variances import learn_variances
from deadheat.stats.ranking.decision import effort_to_detect, effort_until
from deadheat.stats.ranking.ranks import Pair, Ranking

Key = TypeVar("Key")


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

    @classmethod
    def of(cls, log_ratio: float, half_width: float) -> "UnpairedChange":
        """From logarithms; unknown if `half_width` is not finite."""
        if not math.isfinite(half_width):
            return cls(_exp(log_ratio), 0.0, math.inf)
        return cls(*(_exp(log_ratio + step) for step in (0.0, -half_width, half_width)))


def change(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float) -> UnpairedChange:
    """Welch's t-interval (1947) of the log-ratio of two samples of rates, at 1 - `alpha`.

    `first` and `second` are rates[invocation, block]; NaN marks a missing trial. The mean over the
    blocks of an invocation is one observation, because starts scatter more than slices. Fewer than
    two invocations on either side give no interval. Raises ValueError for a side without a rate.
    """
    log_ratio = difference(_means(first), _means(second), alpha)
    high = math.exp(log_ratio.high) if math.isfinite(log_ratio.high) else math.inf
    return UnpairedChange(math.exp(log_ratio.value), math.exp(log_ratio.low), high)


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """Of the second mean from the first; from -infinity to infinity if unknown."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """There is an interval, and it excludes 0."""
        return self.low > 0 or self.high < 0


def difference(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float) -> MeanDifference:
    """Welch's t-interval (1947) of the difference of two means, at 1 - `alpha`.

    Fewer than two values on either side give no interval. ValueError for a side without any.
    """
    sides = [np.asarray(side, dtype=float) for side in (first, second)]
    if not all(len(side) for side in sides):
        raise ValueError("no value to compare: expected at least one")
    value = float(without_rounding(sides[1].mean() - sides[0].mean()))
    if min(len(side) for side in sides) < 2:
        return MeanDifference(value, -math.inf, math.inf)
    spreads = [without_rounding(side - side.mean()) for side in sides]
    parts = [float((d**2).sum()) / (len(d) - 1) / len(d) for d in spreads]
    variance = sum(parts)
    if variance == 0:
        return MeanDifference(value, value, value)
    if math.isnan(variance):
        return MeanDifference(value, -math.inf, math.inf)
    degrees = variance**2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True)
    )
    reach = float(t_critical(alpha / 2, degrees)) * math.sqrt(variance)
    return MeanDifference(value, value - reach, value + reach)


@dataclass(frozen=True, slots=True)
class LearnedMean:
    """A mean, the variance of its error (NaN if unknown), and its degrees of freedom."""

    value: float
    variance: float
    degrees: float


def learned_means(samples: Mapping[Key, Sequence[float]]) -> dict[Key, LearnedMean]:
    """The means of samples with a value for each start; one without any is left out.

    A sample has few starts, so the variances of the logarithms learn from those of all samples
    (see `variances.learn_variances`). That of a sample with a 0 is unknown.
    """
    known = {key: np.asarray(values, dtype=float) for key, values in samples.items() if len(values)}
    if not known:
        return {}
    positive = np.array([values.min() > 0 for values in known.values()])
    counts = np.array([len(values) for values in known.values()])
    of_logs = [
        np.log(values).var(ddof=1) if is_positive and len(values) > 1 else np.nan
        for values, is_positive in zip(known.values(), positive, strict=True)
    ]
    variances, degrees = np.array(of_logs), counts - 1.0
    if np.any(variances > 0):
        variances, degrees = learn_variances(variances, degrees)
    means = np.array([values.mean() for values in known.values()])
    squared = np.where(positive, means**2 * variances / counts, np.nan)
    return {
        key: LearnedMean(float(means[k]), float(squared[k]), float(degrees[k]))
        for k, key in enumerate(known)
    }


def learned_difference(first: LearnedMean, second: LearnedMean, alpha: float) -> MeanDifference:
    """A two-sided t-interval at 1 - `alpha`, with the degrees of Welch and Satterthwaite."""
    value = second.value - first.value
    sides = (first, second)
    variance = sum(side.variance for side in sides)
    if variance == 0:
        return MeanDifference(value, value, value)
    if math.isnan(variance):
        return MeanDifference(value, -math.inf, math.inf)
    degrees = variance**2 / sum(side.variance**2 / side.degrees for side in sides)
    reach = float(t_critical(alpha / 2, degrees)) * math.sqrt(variance)
    return MeanDifference(value, value - reach, value + reach)


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
    Intervals contain the disagreement of both races.
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
            estimate.disagreement[np.ix_(own, own)].sum(axis=1) / (count - 1),
        )
        for estimate, own in zip((first, second), places, strict=True)
    ]
    difference = without_rounding(sides[1][0] - sides[0][0])
    variance, disagreement = (sides[0][part] + sides[1][part] for part in (1, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = variance**2 / sum(own**2 / freedom for _, own, freedom, _ in sides)
    changes = []
    for place, change in enumerate(difference):
        squared, freedom = variance[place], degrees[place]
        reach = math.inf
        if math.isfinite(squared) and math.isfinite(freedom) and freedom > 0:
            reach = float(t_critical(alpha / 2, freedom)) * math.sqrt(squared)
            reach += float(disagreement[place])
        changes.append(UnpairedChange.of(change, reach))
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
