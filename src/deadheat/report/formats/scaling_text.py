"""Scaling with workers, as a table and in words."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from deadheat.report import format
from deadheat.report.findings.analysis import Level
from deadheat.report.findings.scaling import Curve, Point
from deadheat.report.formats.tables import rate
from deadheat.report.model.column import NAME_MAX, Column
from deadheat.report.model.view import RunView
from deadheat.stats.usl import FEWEST_LEVELS, RECOMMENDED_LEVELS, Estimate, ScalingFit


def title(level: Level) -> str:
    return f"Scaling with workers, at {format.count(level.connections, 'connection')}"


def scaling_columns(view: RunView, level: Level, curves: Sequence[Curve]) -> list[Column]:
    """A row for each server and number of workers; none where no server has several."""
    if not curves:
        return []
    rows = [(curve, point) for curve in curves for point in curve.points]
    standings = [point.standing for _, point in rows]
    names = tuple(format.plain(curve.name, NAME_MAX) for curve, _ in rows)
    held = f"\n[{format.percent(level.ranking.level.confidence, 0)}]" if level.ranking else ""
    fewest = {curve.points[0].workers for curve in curves}
    base = format.count(fewest.pop(), "worker") if len(fewest) == 1 else "the fewest"
    return [
        Column("server", names, right=False),
        Column("workers", tuple(f"{point.workers:,}" for _, point in rows)),
        Column("req/s", tuple(rate(view, one, level.connections) for one in standings)),
        Column(f"times {base}{held}", tuple(_gain(point) for _, point in rows), right=False),
        Column(
            "CPU\nµs/req",
            tuple(format.microseconds(one.cell.server_cpu_us_per_request) for one in standings),
        ),
        Column(
            "trials\nvalid",
            tuple(f"{len(one.cell.valid)}/{len(one.cell.trials)}" for one in standings),
        ),
    ]


def sentences(curves: Sequence[Curve]) -> list[str]:
    """What each curve says, and first where it is none; the same of several is said once."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    for curve in curves:
        for text in (*_few_cpus(curve), *_law(curve)):
            told[text].append(curve.name)
    return [f"{format.listing(names)}: {text}" for text, names in told.items()]


def _gain(point: Point) -> str:
    gain = point.gain
    if gain is None:
        return format.NONE
    if point.doubtful:
        return f"({gain.ratio:.2f})"
    if gain.low is None or gain.high is None:
        return f"{gain.ratio:.2f}"
    return f"{gain.ratio:.2f} [{gain.low:.2f}–{gain.high:.2f}]"


def _few_cpus(curve: Curve) -> Iterator[str]:
    most = curve.points[-1].workers
    if curve.cpus >= most:
        return
    given = format.count(curve.cpus, "CPU")
    if len(curve.within) < 2:
        yield f"{given} for {most:,} workers: this is no scaling curve"
    else:
        yield f"{given}: the rows of more workers than that are no part of a scaling curve"


def _law(curve: Curve) -> Iterator[str]:
    """The Universal Scalability Law over the points that have their CPUs."""
    fit, within = curve.fit, curve.within
    if fit is None:
        if len(within) > 1:
            yield (
                f"no scalability law fitted: it takes {FEWEST_LEVELS} numbers of workers, "
                "each with a CPU a worker and a valid trial"
            )
        return
    yield (
        f"scalability law (USL) over {fit.levels} numbers of workers: contention "
        f"{_share(fit.contention)}, coherency {_share(fit.coherency)}{_confidence(fit)}"
    )
    yield _limit(fit, within[-1].workers)
    if fit.provisional:
        yield (
            f"provisional: {fit.levels} numbers of workers for 3 parameters; "
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


def _limit(fit: ScalingFit, most: int) -> str:
    """Where it peaks, and what costs more at the most workers measured."""
    contention, coherency = fit.contention.value, fit.coherency.value
    if max(contention, coherency * most) < 1e-6:
        return f"each of {most} workers brought as much as the first: no limit was seen"
    limit = (
        "contention limits it (work that one worker at a time can do)"
        if contention >= coherency * most
        else "coherency limits it (workers wait for what others change)"
    )
    if fit.has_peak:
        text = f"peak at N* = {_peak(fit)} workers; at {most} {limit}"
        return f"{text}; N* is extrapolated" if fit.peak_workers.value > most else text
    text = f"no peak within the measured range (up to {most} workers); at {most} {limit}"
    if math.isinf(fit.speedup_limit):
        return text
    return f"{text}, to {fit.speedup_limit:,.1f} times one worker at the very most"


def _peak(fit: ScalingFit) -> str:
    peak = fit.peak_workers
    if math.isnan(peak.low):
        return f"{peak.value:,.1f}"
    high = f">{fit.reach:,.0f}" if math.isinf(peak.high) else f"{peak.high:,.1f}"
    return f"{peak.value:,.1f} [{peak.low:,.1f}–{high}]"
