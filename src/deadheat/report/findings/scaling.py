"""One server at several worker counts: what each further worker adds."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.report.findings.analysis import LevelAnalysis, Standing, Times
from deadheat.report.model.facts import grouped
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.ranks import Ranking


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The server at one worker count; `doubtful` if either rate behind its gain is.

    The gain is its rate as a multiple of the rate with the fewest workers.
    """

    standing: Standing
    gain: Times | None
    doubtful: bool

    @property
    def workers(self) -> int:
        return self.standing.contender.workers


@dataclass(frozen=True, slots=True)
class Curve:
    """One server at one setting, fewest workers first; `cpus` is the number that it was given.

    More workers than CPUs take turns, so only the points in `within` show how it scales.
    """

    server: str
    setting: str
    connections: int
    cpus: int
    points: tuple[CurvePoint, ...]

    @property
    def name(self) -> str:
        return self.server if self.setting == "default" else f"{self.server}:{self.setting}"

    @property
    def within(self) -> tuple[CurvePoint, ...]:
        return tuple(point for point in self.points if point.workers <= self.cpus)


def curves(view: RunView, level: LevelAnalysis) -> tuple[Curve, ...]:
    """Every server that has two or more worker counts at a level."""
    groups = grouped(level.standings, lambda s: (s.contender.server, s.contender.setting))
    return tuple(
        _curve(view, level, sorted(group, key=lambda s: s.contender.workers))
        for group in groups.values()
        if len({standing.contender.workers for standing in group}) > 1
    )


def _curve(view: RunView, level: LevelAnalysis, standings: list[Standing]) -> Curve:
    first = standings[0]
    return Curve(
        server=first.contender.server,
        setting=first.contender.setting,
        connections=level.connections,
        cpus=view.server_cpus,
        points=tuple(
            CurvePoint(
                standing=standing,
                gain=_gain(view, level.ranking, standing, first),
                doubtful=standing.cell.doubtful or first.cell.doubtful,
            )
            for standing in standings
        ),
    )


def _gain(
    view: RunView, ranking: Ranking | None, standing: Standing, first: Standing
) -> Times | None:
    """From the ranking if both are in it: then it is paired by block and has an interval."""
    names = standing.contender.name, first.contender.name
    if standing is first:
        return Times(1.0) if standing.cell.rates_per_s else None
    if ranking is not None and standing.ranked and first.ranked:
        pair = ranking.pair(*names)
        ratio, low, high = pair.ratio.ratio, pair.ratio.low, pair.ratio.high
        if not math.isinf(high):
            is_faster = pair.faster == names[0]
            return Times(ratio, low, high) if is_faster else Times(1 / ratio, 1 / high, 1 / low)
    rates = standing.cell.rate_per_s(view.aggregate), first.cell.rate_per_s(view.aggregate)
    return Times(rates[0] / rates[1]) if rates[0] and rates[1] else None


def scaling_title(level: LevelAnalysis) -> str:
    return f"Scaling with workers, at {numbers.count(level.connections, 'connection')}"


def scaling_sentences(curves: Sequence[Curve]) -> list[str]:
    """What each curve shows. Curves with the same sentence share it."""
    names_by_text: defaultdict[str, list[str]] = defaultdict(list)
    for curve in curves:
        for text in _cpu_sentences(curve):
            names_by_text[text].append(curve.name)
    return [f"{numbers.listing(names)}: {text}" for text, names in names_by_text.items()]


def _cpu_sentences(curve: Curve) -> Iterator[str]:
    most = curve.points[-1].workers
    if curve.cpus >= most:
        return
    given = numbers.count(curve.cpus, "CPU")
    if len(curve.within) < 2:
        yield f"only {given} for {most:,} workers, so this is not a scaling curve"
    else:
        yield f"only {given}: rows with more workers are not part of the scaling curve"
