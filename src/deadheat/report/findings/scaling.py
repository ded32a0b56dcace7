"""One server at several worker counts: what each further worker adds, and the law that fits it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.report import format
from deadheat.report.findings.analysis import Level, Standing, valid_rates
from deadheat.report.model.view import RunView
from deadheat.stats.ranking import Ranking
from deadheat.stats.usl import FEWEST_LEVELS, RECOMMENDED_LEVELS, Estimate, ScalingFit, fit_scaling


@dataclass(frozen=True, slots=True)
class Gain:
    """The rate as a multiple of the rate with the fewest workers; bounds only with an interval."""

    ratio: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The server at one worker count; `doubtful` if either rate behind its gain is."""

    standing: Standing
    gain: Gain | None
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
    points: tuple[Point, ...]
    fit: ScalingFit | None

    @property
    def name(self) -> str:
        return self.server if self.setting == "default" else f"{self.server}:{self.setting}"

    @property
    def within(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.workers <= self.cpus)


def curves(view: RunView, level: Level) -> tuple[Curve, ...]:
    """Every server that has two or more worker counts at a level."""
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
                standing=standing,
                gain=_gain(view, level.ranking, standing, first),
                doubtful=standing.cell.doubtful or first.cell.doubtful,
            )
            for standing in standings
        ),
        fit=_fit([standing for standing in standings if standing.contender.workers <= cpus]),
    )


def _gain(
    view: RunView, ranking: Ranking | None, standing: Standing, first: Standing
) -> Gain | None:
    """From the ranking if both are in it: then it is paired by block and has an interval."""
    names = standing.contender.name, first.contender.name
    if standing is first:
        return Gain(1.0) if standing.cell.rates_per_s else None
    if ranking is not None and standing.ranked and first.ranked:
        pair = ranking.pair(*names)
        ratio, low, high = pair.ratio.ratio, pair.ratio.low, pair.ratio.high
        if not math.isinf(high):
            return Gain(ratio, low, high) if pair.faster == names[0] else _inverse(ratio, low, high)
    rates = standing.cell.rate_per_s(view.aggregate), first.cell.rate_per_s(view.aggregate)
    return Gain(rates[0] / rates[1]) if rates[0] and rates[1] else None


def _inverse(ratio: float, low: float, high: float) -> Gain:
    return Gain(1 / ratio, 1 / high, 1 / low)


def _fit(standings: list[Standing]) -> ScalingFit | None:
    """The scalability law over the valid trials, by block; None for too few worker counts."""
    known = [standing for standing in standings if standing.cell.valid]
    workers = [standing.contender.workers for standing in known]
    if len(set(workers)) < FEWEST_LEVELS:
        return None
    rates = [valid_rates(standing.cell) for standing in known]
    blocks = sorted({place for by_place in rates for place in by_place})
    table = [[by_place.get(place, math.nan) for by_place in rates] for place in blocks]
    return fit_scaling(workers, np.array(table, dtype=float))


def scaling_title(level: Level) -> str:
    return f"Scaling with workers, at {format.count(level.connections, 'connection')}"


def scaling_sentences(curves: Sequence[Curve]) -> list[str]:
    """What each curve shows. Curves with the same sentence share it."""
    names_by_text: defaultdict[str, list[str]] = defaultdict(list)
    for curve in curves:
        for text in (*_cpu_sentences(curve), *_law_sentences(curve)):
            names_by_text[text].append(curve.name)
    return [f"{format.listing(names)}: {text}" for text, names in names_by_text.items()]


def _cpu_sentences(curve: Curve) -> Iterator[str]:
    most = curve.points[-1].workers
    if curve.cpus >= most:
        return
    given = format.count(curve.cpus, "CPU")
    if len(curve.within) < 2:
        yield f"only {given} for {most:,} workers, so this is not a scaling curve"
    else:
        yield f"only {given}: rows with more workers are not part of the scaling curve"


def _law_sentences(curve: Curve) -> Iterator[str]:
    """The Universal Scalability Law over the points with a CPU for each worker."""
    fit, within = curve.fit, curve.within
    if fit is None:
        if len(within) > 1:
            yield (
                f"no scalability law fitted: that needs {FEWEST_LEVELS} worker counts, each with a "
                "CPU for each worker and a valid trial"
            )
        return
    yield (
        f"scalability law (USL) over {fit.levels} worker counts: contention "
        f"{_share(fit.contention)}, coherency {_share(fit.coherency)}{_confidence(fit)}"
    )
    yield _limit_sentence(fit, within[-1].workers)
    if fit.provisional:
        yield (
            f"provisional: {fit.levels} worker counts for 3 parameters; "
            f"{RECOMMENDED_LEVELS} are recommended"
        )


def _share(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return f"{100 * estimate.value:.2f} %"
    return f"{100 * estimate.value:.2f} % [{100 * estimate.low:.2f}–{100 * estimate.high:.2f}]"


def _confidence(fit: ScalingFit) -> str:
    if math.isnan(fit.contention.low):
        return f"; no interval from {format.count(fit.blocks, 'block')}"
    return f", each at {format.percent(fit.confidence, 0)}, resampled by block"


def _limit_sentence(fit: ScalingFit, most: int) -> str:
    """Where the rate peaks, and what limits it at the largest worker count."""
    contention, coherency = fit.contention.value, fit.coherency.value
    if max(contention, coherency * most) < 1e-6:
        return f"each of {most} workers added as much as the first: no limit was detected"
    limit = (
        "contention limits it (work that only one worker at a time can do)"
        if contention >= coherency * most
        else "coherency limits it (workers wait for each other's changes)"
    )
    if fit.has_peak:
        text = f"peak at N* = {_peak(fit)} workers; at {most} {limit}"
        return f"{text}; N* is extrapolated" if fit.peak_workers.value > most else text
    text = f"no peak within the measured range (up to {most} workers); at {most} {limit}"
    if math.isinf(fit.speedup_limit):
        return text
    return f"{text} to at most {fit.speedup_limit:,.1f} times one worker"


def _peak(fit: ScalingFit) -> str:
    peak = fit.peak_workers
    if math.isnan(peak.low):
        return f"{peak.value:,.1f}"
    high = f">{fit.reach:,.0f}" if math.isinf(peak.high) else f"{peak.high:,.1f}"
    return f"{peak.value:,.1f} [{peak.low:,.1f}–{high}]"
