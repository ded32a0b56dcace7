"""Latency curves: service time by quantile, on a scale that widens the tail."""

import math
from collections.abc import Sequence

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.report.picture import lines, svg
from deadheat.report.picture.footer import with_footer
from deadheat.report.picture.lines import Axis, Line

FIRST = 0.1
CURVES_MAX = 8
SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


def draw(view: RunView, analysis: Analysis) -> str | None:
    """The first eight of the ranking; None if no histogram is stored."""
    if not analysis.levels:
        return None
    measured = [s for s in analysis.main.standings if len(s.cell.service.curve) > 1]
    shown = [
        Line(
            name=standing.name,
            points=tuple((q, us / 1000) for q, us in standing.cell.service.curve if q >= FIRST),
            color=svg.PALETTE[place],
        )
        for place, standing in enumerate(measured[:CURVES_MAX])
    ]
    shown = [line for line in shown if line.points]
    if not shown:
        return None
    at = numbers.count(analysis.main.connections, "connection")
    title = f"Service time at {at}, closed loop"
    if len(measured) > CURVES_MAX:
        title += f": the first {CURVES_MAX} of {len(measured)}"
    parts = lines.plane(title, _across(shown), _up(shown), shown)
    return with_footer(view, analysis, title, parts, lines.HEIGHT + 16)


def _across(shown: Sequence[Line]) -> Axis:
    most = max(_nines(line.points[-1][0]) for line in shown)
    first = _nines(FIRST)
    return Axis(
        label="share of requests that took at most this, %",
        scale=lambda q: (_nines(q) - first) / (most - first or 1.0),
        ticks=[(q, f"{100 * q:g}") for q in SHARES if _nines(q) <= most + 1e-6],
    )


def _nines(q: float) -> float:
    return -math.log10(1 - q)


def _up(shown: Sequence[Line]) -> Axis:
    values = [ms for line in shown for _, ms in line.points]
    low, high = math.log10(min(values)), math.log10(max(values))
    steps = (1, 2, 5) if high - low < 2.3 else (1,)
    decades = range(math.floor(low), math.ceil(high) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return Axis(
        label="ms",
        scale=lambda ms: (math.log10(ms) - low) / (high - low or 1.0),
        ticks=[(tick, f"{tick:g}") for tick in ticks if low <= math.log10(tick) <= high],
    )
