"""Ranking of contenders, with rank intervals and ties.

All statements of a ranking hold jointly at its confidence: every verdict, every rank interval
and every ratio interval. Neighbors are chosen after looking at the data, so the error is shared
over all pairs, not only over neighbors. One family also keeps the table consistent: each verdict
follows from its interval, and each rank from the verdicts.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from deadheat.numbers import is_known
from deadheat.stats.distributions import Floats, falling
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.decision import Effort, Outlook, Verdict, effort, judge, outlook_of
from deadheat.stats.ranking.pairs import (
    PairFits,
    fill_indirect,
    fit_pairs,
    minimum_detectable_effect,
)
from deadheat.stats.ranking.ratio import DecidedPairs, RatioInterval, Ratios

Decided = Mapping[tuple[str, str], Verdict]  # faster and slower -> what an earlier look decided


@dataclass(frozen=True)
class Row:
    """One contender in the order. `rank_low` is its best possible rank; 1 is the fastest.

    `group` counts from 1. No two rows of a group are separated: they are a dead heat. A group
    begins with the first row that is separated from some row of the group above.
    """

    name: str
    rank_low: int
    rank_high: int
    group: int
    rate_median: float
    ratio_to_leader: RatioInterval

    @property
    def rank(self) -> str:
        """The rank interval as text: "3" or "2-4"."""
        if self.rank_low == self.rank_high:
            return str(self.rank_low)
        return f"{self.rank_low}-{self.rank_high}"


@dataclass(frozen=True)
class Pair:
    """Two contenders; `faster` is the one with the higher estimate.

    `probability_faster` is P(faster > slower) as `PairFits.probability_faster` defines it.
    `effort` is what an undecided pair needs, `outlook` how its interval narrows; both are None for
    a decided pair or without an interval.
    """

    faster: str
    slower: str
    verdict: Verdict
    ratio: RatioInterval
    probability_faster: float
    effort: Effort | None
    outlook: Outlook | None = None


@dataclass(frozen=True)
class Ranking:
    """Rows from fastest to slowest, and all pairs of them.

    `unranked` names contenders without a comparable trial. `minimum_detectable_effect` is the
    difference (0.02 is 2 %) that a run like this detects with 80 % power.
    """

    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    unranked: tuple[str, ...]
    level: ErrorLevel
    margin: float
    minimum_detectable_effect: float

    @cached_property
    def neighbors(self) -> tuple[Pair, ...]:
        """The pairs of neighbors in the order, from the top."""
        names = [row.name for row in self.rows]
        return tuple(self.pair(a, b) for a, b in pairwise(names))

    @property
    def settled(self) -> bool:
        """Every neighboring pair is separated or equivalent."""
        return all(pair.verdict is not Verdict.UNDECIDED for pair in self.neighbors)

    @property
    def dead_heats(self) -> tuple[tuple[str, ...], ...]:
        """The groups of two or more in which every pair has a known interval, from the top."""
        groups: dict[int, list[str]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row.name)
        unknown = [{pair.faster, pair.slower} for pair in self.pairs if _is_unknown(pair)]
        return tuple(
            tuple(names)
            for names in groups.values()
            if len(names) > 1 and not any(pair <= {*names} for pair in unknown)
        )

    def pair(self, a: str, b: str) -> Pair:
        """The pair of two ranked contenders, named in any order. Raises KeyError for others."""
        return self._by_names[frozenset((a, b))]

    @cached_property
    def _by_names(self) -> dict[frozenset[str], Pair]:
        return {frozenset((pair.faster, pair.slower)): pair for pair in self.pairs}


def rank(
    rates: npt.ArrayLike,
    names: Sequence[str],
    *,
    margin: float = 0.03,
    confidence: float = 0.95,
    share: float = 1.0,
    controls: Collection[str] = (),
    decided: Decided | None = None,
) -> Ranking:
    """Rank `rates[invocation, block, contender]` (requests/s, NaN for no valid trial).

    A race in heats stacks the invocations of all heats; contenders of different heats are
    compared through one that ran with both.

    `share` is this look's share of the error (`alpha_spending.Looks.share`). A pair with one
    invocation in common stays undecided (see `fit_pairs`). `controls` names
    columns that ran in every block but do not compete, such as the null server: they
    contribute to the pooled variance and are not ranked. `decided` has the verdicts of earlier
    looks, which stay (see `ratio.Kept`). Raises ValueError for duplicate
    names, or another number of names than columns.
    """
    rates = np.asarray(rates, dtype=float)
    fits = fill_indirect(fit_pairs(rates))
    competing = competitors(names, fits.contenders, controls)
    order = _order(fits, rates, competing)
    return ranking_of(
        fits.of(order),
        [names[k] for k in order],
        np.nanmedian(rates[:, :, order], axis=(0, 1)) if len(order) else np.array([]),
        unranked=[name for k, name in enumerate(names) if competing[k] and k not in order],
        margin=margin,
        confidence=confidence,
        share=share,
        decided=decided,
    )


def competitors(
    names: Sequence[str], contenders: int, controls: Collection[str]
) -> npt.NDArray[np.bool_]:
    """Who competes: all but the controls. ValueError for names that do not fit."""
    if len(names) != contenders or len(set(names)) != len(names):
        raise ValueError(f"names {list(names)}: expected {contenders} distinct ones")
    return np.array([name not in controls for name in names], dtype=bool)


def ranking_of(
    fits: PairFits,
    names: Sequence[str],
    rates_per_s: Floats,
    *,
    unranked: Sequence[str],
    margin: float,
    confidence: float,
    share: float = 1.0,
    decided: Decided | None = None,
    ratios_as: type[Ratios] = Ratios,
    detectable_by: npt.NDArray[np.intp] | None = None,
    more_time_helps: bool = True,
) -> Ranking:
    """What `fits` say of contenders in their order, the fastest first; see `rank`.

    `ratios_as` states the method. `detectable_by` has the places of the contenders that the
    smallest detectable difference is read from; None: all. Without `more_time_helps`, no pair has
    an effort.
    """
    level = ErrorLevel(confidence, max(len(names) * (len(names) - 1) // 2, 1), share)
    ratios = ratios_as(fits, level, kept_pairs(fits, names, decided or {}, margin))
    verdicts = _verdicts(ratios, margin)
    seen = fits if detectable_by is None else fits.of(detectable_by)
    return Ranking(
        rows=_rows(ratios, verdicts, names, rates_per_s),
        pairs=_pairs(ratios, verdicts, names, margin, more_time_helps),
        unranked=tuple(unranked),
        level=level,
        margin=margin,
        minimum_detectable_effect=minimum_detectable_effect(seen, ratios.alpha_left),
    )


def linked_order(
    log_rate: Floats, variance: Floats, competing: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Rankable contenders of a model, fastest first: those with a rate that is linked to others."""
    field = np.flatnonzero(competing & np.isfinite(log_rate))
    linked = np.isfinite(variance[np.ix_(field, field)]).sum(axis=1) > 1
    field = field[linked | (len(field) == 1)]
    order: npt.NDArray[np.intp] = field[falling(log_rate[field])]
    return order


def _order(fits: PairFits, rates: Floats, competing: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Rankable contenders, fastest first, by their mean log-ratio to the others."""
    field = np.flatnonzero(competing & np.isfinite(rates).any(axis=(0, 1)))
    log_ratio = fits.log_ratio[np.ix_(field, field)]
    comparable = np.isfinite(log_ratio).any(axis=1) | (len(field) == 1)
    field, log_ratio = field[comparable], log_ratio[np.ix_(comparable, comparable)]
    np.fill_diagonal(log_ratio, 0.0)
    score = np.array([np.nanmean(against) for against in log_ratio])
    return field[falling(score)]


def _verdicts(ratios: Ratios, margin: float) -> npt.NDArray[np.object_]:
    """The verdict of every pair [place, place]. A contender is equivalent to itself."""
    verdicts = judge(ratios.fits.log_ratio, ratios.half_width, ratios.separated, margin)
    equivalent = np.eye(len(verdicts), dtype=bool)
    if ratios.kept is not None:
        equivalent |= ratios.kept.equivalent
    verdicts[equivalent] = np.array([Verdict.EQUIVALENT], object)  # NumPy would make it plain text
    return verdicts


def kept_pairs(
    fits: PairFits, names: Sequence[str], decided: Decided, margin: float
) -> DecidedPairs | None:
    """The verdicts of earlier looks that the present estimates do not contradict."""
    if not decided:
        return None
    shape = fits.log_ratio.shape
    separated, equivalent = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    places = {name: place for place, name in enumerate(names)}
    for (faster, slower), verdict in decided.items():
        if faster not in places or slower not in places:
            continue
        a, b = places[faster], places[slower]
        log_ratio = float(fits.log_ratio[a, b])
        if verdict is Verdict.SEPARATED and log_ratio > 0:
            separated[a, b] = separated[b, a] = True
        elif verdict is Verdict.EQUIVALENT and abs(log_ratio) < np.log1p(margin):
            equivalent[a, b] = equivalent[b, a] = True
    return DecidedPairs(separated, equivalent, margin)


def _rows(
    ratios: Ratios, verdicts: npt.NDArray[np.object_], names: Sequence[str], medians: Floats
) -> tuple[Row, ...]:
    separated = verdicts == Verdict.SEPARATED
    beaten_by = (separated & (ratios.fits.log_ratio < 0)).sum(axis=1)
    beats = (separated & (ratios.fits.log_ratio > 0)).sum(axis=1)
    groups = _groups(separated)
    return tuple(
        Row(
            name=name,
            rank_low=1 + int(beaten_by[place]),
            rank_high=len(names) - int(beats[place]),
            group=groups[place],
            rate_median=float(medians[place]),
            ratio_to_leader=ratios.interval(place, 0),
        )
        for place, name in enumerate(names)
    )


def _groups(separated: npt.NDArray[np.bool_]) -> list[int]:
    """The group of each place, from the top."""
    groups, first = [1] * len(separated), 0
    for place in range(1, len(separated)):
        cut = bool(separated[first:place, place].any())
        first = place if cut else first
        groups[place] = groups[place - 1] + cut
    return groups


def _pairs(
    ratios: Ratios,
    verdicts: npt.NDArray[np.object_],
    names: Sequence[str],
    margin: float,
    more_time_helps: bool,
) -> tuple[Pair, ...]:
    probability = ratios.fits.probability_faster()
    pairs = []
    for above, below in combinations(range(len(names)), 2):
        swap = ratios.fits.log_ratio[above, below] < 0
        a, b = (below, above) if swap else (above, below)
        verdict = verdicts[a, b]
        undecided = more_time_helps and verdict is Verdict.UNDECIDED
        pairs.append(
            Pair(
                faster=names[a],
                slower=names[b],
                verdict=verdict,
                ratio=ratios.interval(a, b),
                probability_faster=float(probability[a, b]),
                effort=effort(ratios, a, b, margin) if undecided else None,
                outlook=outlook_of(ratios, a, b) if undecided else None,
            )
        )
    return tuple(pairs)


def without_interval(ranking: Ranking) -> frozenset[str]:
    """The fewest contenders to leave out so that each undecided pair has a known interval.

    An interval that excludes nothing is no reason to call two contenders a dead heat. Of a pair
    that has none, the one with more such pairs is named; of two alike, the slower one.
    """
    pairs = [pair for pair in ranking.pairs if _is_unknown(pair)]
    places = {row.name: place for place, row in enumerate(ranking.rows)}
    named: set[str] = set()
    while pairs:
        counts = Counter(name for pair in pairs for name in (pair.faster, pair.slower))
        worst = max(counts, key=lambda name: (counts[name], places[name]))
        named.add(worst)
        pairs = [pair for pair in pairs if worst not in (pair.faster, pair.slower)]
    if len(named) + 1 >= len(ranking.rows) > 1:  # one alone has no interval either
        named = {row.name for row in ranking.rows}
    return frozenset(named)


def share_left(ranking: Ranking, apart: Collection[str]) -> float:
    """The share of a ranking's error that the pairs of the others have, without those `apart`."""
    count = len(ranking.rows)
    return math.comb(count - len(apart), 2) / math.comb(count, 2)


def _is_unknown(pair: Pair) -> bool:
    ratio = pair.ratio
    return pair.verdict is Verdict.UNDECIDED and not is_known(ratio.low, ratio.high)
