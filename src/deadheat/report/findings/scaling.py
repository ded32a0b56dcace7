"""One server at several numbers of workers: what each further worker brings."""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from deadheat.report.findings.analysis import Level, Standing
from deadheat.report.model.view import RunView
from deadheat.stats.ranking import Ranking
from deadheat.stats.usl import FEWEST_LEVELS, ScalingFit, fit_scaling


@dataclass(frozen=True, slots=True)
class Gain:
    """The rate as a multiple of that with the fewest workers; no bounds without an interval."""

    ratio: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The server at one number of workers; `doubtful` where either rate behind its gain is."""

    standing: Standing
    gain: Gain | None
    doubtful: bool

    @property
    def workers(self) -> int:
        return self.standing.contender.workers


@dataclass(frozen=True, slots=True)
class Curve:
    """One server at one setting, the fewest workers first; `cpus` is what the server was given.

    More workers than CPUs take turns, so only the points `within` them say how it scales.
    """

    server: str
    setting: str
    connections: int
    cpus: int
    points: tuple[Point, ...]
    fit: ScalingFit | None

    @property
    def name(self) -> str:
        return self.server if self.setting == "default" else f"{self.server}:{self.setting}"

    @property
    def within(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.workers <= self.cpus)


def curves(view: RunView, level: Level) -> tuple[Curve, ...]:
    """Every server that stands at a level with two or more numbers of workers."""
    groups: defaultdict[tuple[str, str], list[Standing]] = defaultdict(list)
    for standing in level.standings:
        groups[standing.contender.server, standing.contender.setting].append(standing)
    return tuple(
        _curve(view, level, sorted(group, key=lambda s: s.contender.workers))
        for group in groups.values()
        if len({standing.contender.workers for standing in group}) > 1
    )


def _curve(view: RunView, level: Level, standings: list[Standing]) -> Curve:
    first, cpus = standings[0], view.server_cpus
    return Curve(
        server=first.contender.server,
        setting=first.contender.setting,
        connections=level.connections,
        cpus=cpus,
        points=tuple(
            Point(
                standing=one,
                gain=_gain(view, level.ranking, one, first),
                doubtful=one.cell.doubtful or first.cell.doubtful,
            )
            for one in standings
        ),
        fit=_fit([one for one in standings if one.contender.workers <= cpus]),
    )


def _gain(view: RunView, ranking: Ranking | None, one: Standing, first: Standing) -> Gain | None:
    """From the ranking where it holds both: then it is paired by block, with an interval."""
    names = one.contender.name, first.contender.name
    if one is first:
        return Gain(1.0) if one.cell.rates_per_s else None
    if ranking is not None and one.ranked and first.ranked:
        pair = ranking.pair(*names)
        ratio, low, high = pair.ratio.ratio, pair.ratio.low, pair.ratio.high
        if not math.isinf(high):
            return Gain(ratio, low, high) if pair.faster == names[0] else _inverse(ratio, low, high)
    rates = one.cell.rate_per_s(view.aggregate), first.cell.rate_per_s(view.aggregate)
    return Gain(rates[0] / rates[1]) if rates[0] and rates[1] else None


def _inverse(ratio: float, low: float, high: float) -> Gain:
    return Gain(1 / ratio, 1 / high, 1 / low)


def _fit(standings: list[Standing]) -> ScalingFit | None:
    """The scalability law over the valid trials, block by block; None below three levels."""
    known = [one for one in standings if one.cell.valid]
    workers = [one.contender.workers for one in known]
    if len(set(workers)) < FEWEST_LEVELS:
        return None
    rates = [
        {(t.invocation, t.heat, t.block): t.rate_per_s for t in one.cell.valid} for one in known
    ]
    blocks = sorted({place for by_place in rates for place in by_place})
    table = [[by_place.get(place, math.nan) for by_place in rates] for place in blocks]
    return fit_scaling(workers, np.array(table, dtype=float))
