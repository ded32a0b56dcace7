"""Scaling with workers, as a table and as sentences."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Level
from deadheat.report.findings.scaling import Curve, Point
from deadheat.report.formats.tables import rate
from deadheat.report.model.column import NAME_MAX, Column
from deadheat.report.model.view import RunView


def title(level: Level) -> str:
    return f"Scaling with workers, at {numbers.count(level.connections, 'connection')}"


def scaling_columns(view: RunView, level: Level, curves: Sequence[Curve]) -> list[Column]:
    """A row for each server and worker count; no columns if no server has several."""
    if not curves:
        return []
    rows = [(curve, point) for curve in curves for point in curve.points]
    standings = [point.standing for _, point in rows]
    names = tuple(one_line(curve.name, NAME_MAX) for curve, _ in rows)
    held = f"\n[{numbers.percent(level.ranking.level.confidence, 0)}]" if level.ranking else ""
    fewest = {curve.points[0].workers for curve in curves}
    base = numbers.count(fewest.pop(), "worker") if len(fewest) == 1 else "the fewest"
    return [
        Column("server", names, right=False),
        Column("workers", tuple(f"{point.workers:,}" for _, point in rows)),
        Column("req/s", tuple(rate(view, standing, level.connections) for standing in standings)),
        Column(f"times {base}{held}", tuple(_gain(point) for _, point in rows), right=False),
        Column(
            "CPU\nµs/req",
            tuple(
                numbers.microseconds(standing.cell.server_cpu_us_per_request)
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
        for text in _cpu_sentences(curve):
            names_by_text[text].append(curve.name)
    return [f"{numbers.listing(names)}: {text}" for text, names in names_by_text.items()]


def _gain(point: Point) -> str:
    gain = point.gain
    if gain is None:
        return numbers.NONE
    if point.doubtful:
        return f"({gain.ratio:.2f})"
    if gain.low is None or gain.high is None:
        return f"{gain.ratio:.2f}"
    if not numbers.is_known(gain.low, gain.high):
        return f"{gain.ratio:.2f} {numbers.UNKNOWN}"
    return f"{gain.ratio:.2f} [{gain.low:.2f}–{gain.high:.2f}]"


def _cpu_sentences(curve: Curve) -> Iterator[str]:
    most = curve.points[-1].workers
    if curve.cpus >= most:
        return
    given = numbers.count(curve.cpus, "CPU")
    if len(curve.within) < 2:
        yield f"only {given} for {most:,} workers, so this is not a scaling curve"
    else:
        yield f"only {given}: rows with more workers are not part of the scaling curve"
