"""Scaling with workers, as a table and as sentences."""

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
    """A row for each server and worker count; no columns if no server has several."""
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
        Column("req/s", tuple(rate(view, standing, level.connections) for standing in standings)),
        Column(f"times {base}{held}", tuple(_gain(point) for _, point in rows), right=False),
        Column(
            "CPU\nµs/req",
            tuple(
                format.microseconds(standing.cell.server_cpu_us_per_request)
                for standing in standings
            ),
        ),
        Column(
            "trials\nvalid",
            tuple(
                f"{len(standing.cell.valid)}/{len(standing.cell.trials)}" for standing in standings
            ),
        ),
    ]


def sentences(curves: Sequence[Curve]) -> list[str]:
    """What each curve shows. Curves with the same sentence share it."""
    names_by_text: defaultdict[str, list[str]] = defaultdict(list)
    for curve in curves:
        for text in (*_cpu_sentences(curve), *_law_sentences(curve)):
            names_by_text[text].append(curve.name)
    return [f"{format.listing(names)}: {text}" for text, names in names_by_text.items()]


def _gain(point: Point) -> str:
    gain = point.gain
    if gain is None:
        return format.NONE
    if point.doubtful:
        return f"({gain.ratio:.2f})"
    if gain.low is None or gain.high is None:
        return f"{gain.ratio:.2f}"
    if not format.is_known(gain.low, gain.high):
        return f"{gain.ratio:.2f} {format.UNKNOWN}"
    return f"{gain.ratio:.2f} [{gain.low:.2f}–{gain.high:.2f}]"


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
