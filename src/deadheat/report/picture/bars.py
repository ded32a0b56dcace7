"""The bar chart: each server's rate with its interval, in groups."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from deadheat.protocol import label_of
from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level, Standing
from deadheat.report.findings.grouping import Groups, by_cores, by_language, framework
from deadheat.report.findings.headline import answer
from deadheat.report.formats.tables import rank, rate
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg
from deadheat.report.picture.footer import footer

RIGHT = 140
ROW, BAR, HEAD = 24, 12, 26
NAME_MAX = 42
LETTER = 7.4  # the widest that a name's letters are on average
SOLID = 0.6  # a whisker has to be seen in front of it


@dataclass(frozen=True, slots=True)
class Chart:
    """Where bars begin and how long they are, in pixels."""

    view: RunView
    level: Level
    named: Callable[[Standing], str]
    left: float
    scale: float  # for each request per second

    def x(self, rate_per_s: float) -> float:
        return self.left + self.scale * rate_per_s


def draw(view: RunView, analysis: Analysis) -> str | None:
    """One core, then several, where there are both: woo-2016 has a picture for each."""
    return _draw(view, analysis, by_cores(_shown(view, analysis)), lambda one: one.name)


def draw_by_language(view: RunView, analysis: Analysis) -> str | None:
    """In groups by language, as kzmake-2018 tells them apart."""
    return _draw(view, analysis, by_language(_shown(view, analysis)), framework)


def _shown(view: RunView, analysis: Analysis) -> list[Standing]:
    if not analysis.levels:
        return []
    return [one for one in analysis.main.standings if one.cell.rate_per_s(view.aggregate)]


def _draw(
    view: RunView, analysis: Analysis, groups: Groups, named: Callable[[Standing], str]
) -> str | None:
    rows = [one for group in groups.values() for one in group]
    if not rows:
        return None
    level = analysis.main
    left = 26 + LETTER * min(NAME_MAX, max(len(named(one)) for one in rows))
    most = max(max(_ends(view, level, one)[1], _length(view, one)) for one in rows)
    chart = Chart(view, level, named, left, (svg.WIDTH - left - RIGHT) / most)
    told = _title(view, level)
    title = svg.title(told)
    top = y = svg.title_height(title) + 24
    parts = [*title]
    if level.ranked:
        parts.append(
            svg.text(svg.WIDTH - 16, top - 4, "rank", anchor="end", fill=svg.MUTED, size=11)
        )
    for place, (head, group) in enumerate(groups.items()):
        if len(groups) > 1:
            parts.append(svg.text(16, y + 20, head, weight=600))
            y += HEAD
        parts.append(svg.line(left, y, left, y + ROW * len(group), svg.LINE))
        color = svg.PALETTE[place % len(svg.PALETTE)] if len(groups) > 1 else svg.BLUE
        for one in group:
            parts += _row(chart, one, y, color)
            y += ROW
        y += 8
    parts += _axis(chart, most, y)
    foot = footer(view, analysis, y + 48)
    return svg.document(y + 48 + svg.STEP * len(foot), told, [*parts, *foot])


def _title(view: RunView, level: Level) -> str:
    if level.ranked:
        return f"{answer(view, level)}."
    at = format.count(level.connections, "connection")
    return f"Requests/s at {at}, {label_of(view.protocol)}; nothing is ranked."


def _row(chart: Chart, one: Standing, y: float, color: str) -> list[str]:
    view, level = chart.view, chart.level
    middle, length = y + ROW / 2, chart.scale * _length(view, one)
    place = rank(one) if level.ranked else ""
    shape = (chart.left, middle - BAR / 2, length, BAR)
    bar = svg.outline(*shape) if one.cell.doubtful else svg.rect(*shape, color, SOLID)
    low, high = map(chart.x, _ends(view, level, one))
    whisker = [
        svg.line(low, middle, high, middle, svg.INK, 1.5),
        *(svg.line(end, middle - 5, end, middle + 5, svg.INK, 1.5) for end in (low, high)),
    ]
    right = max(high, chart.left + length) + 8
    return [
        svg.text(chart.left - 10, middle + 4.5, chart.named(one), anchor="end", longest=NAME_MAX),
        bar,
        *(whisker if high > low else ()),
        svg.text(right, middle + 4.5, rate(view, one, level.connections), size=12),
        svg.text(svg.WIDTH - 16, middle + 4.5, place, anchor="end", fill=svg.MUTED, size=12),
    ]


def _length(view: RunView, one: Standing) -> float:
    """Requests per second."""
    return one.cell.rate_per_s(view.aggregate) or 0.0


def _ends(view: RunView, level: Level, one: Standing) -> tuple[float, float]:
    """The interval of its ratio to the leader, as rates; else its slowest and fastest trial."""
    length = _length(view, one)
    if level.ranking is None:
        return one.cell.spread_per_s or (length, length)
    if one.row is None or not one.ranked:
        return (length, length)
    ratio = one.row.ratio_to_leader
    if not math.isfinite(ratio.high) or ratio.high > format.UNKNOWN_FACTOR * ratio.low:
        return (length, length)
    return (length * ratio.low / ratio.ratio, length * ratio.high / ratio.ratio)


def _axis(chart: Chart, most: float, y: float) -> list[str]:
    step = _step(most)
    ticks = [step * i for i in range(int(most / step) + 1)]
    return [
        *(svg.line(chart.x(t), y, chart.x(t), y + 5, svg.MUTED) for t in ticks),
        *(
            svg.text(chart.x(t), y + 19, f"{t:,.0f}", anchor="middle", fill=svg.MUTED, size=11)
            for t in ticks
        ),
        svg.text(svg.WIDTH - 16, y + 19, "requests/s", anchor="end", fill=svg.MUTED, size=11),
    ]


def _step(most: float) -> float:
    """1, 2 or 5 times a power of ten, three to seven times in `most`."""
    power = math.pow(10, math.floor(math.log10(most)))
    return next(power * step for step in (2, 1, 0.5, 0.2) if most / (power * step) >= 3)
