"""Bars: the rate of each server in groups, or its share of the best on each workload."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, Standing
from deadheat.report.findings.conclusion import answer
from deadheat.report.findings.profile import Share, profile
from deadheat.report.formats.shapes import Groups, by_cores, by_language, framework
from deadheat.report.formats.tables import rank, rate
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg
from deadheat.report.picture.svg import with_footer

RIGHT = 140
ROW, BAR, HEAD = 24, 12, 26
NAME_MAX = 42
LETTER = 7.4  # an upper bound of the mean width of a name's letters, in pixels
FADE_OUT = 40  # pixels to the right of a bar with an unknown interval
SOLID = 0.6  # opacity: a whisker must be visible in front of it
SHARES_ROW, SHARES_BAR, GAP = 22, 10, 14
SHARES_NAME_MAX = 30


@dataclass(frozen=True, slots=True)
class Chart:
    """The geometry of the bars, in pixels."""

    view: RunView
    level: LevelAnalysis
    named: Callable[[Standing], str]
    left: float
    scale: float  # pixels for each request/s

    def x(self, rate_per_s: float) -> float:
        return self.left + self.scale * rate_per_s


def draw_bars(view: RunView, analysis: Analysis) -> str | None:
    """Grouped by one core and several, if there are both, as in woo-2016."""
    return _draw_groups(
        view, analysis, by_cores(_shown(view, analysis)), lambda standing: standing.name
    )


def draw_by_language(view: RunView, analysis: Analysis) -> str | None:
    """Grouped by language, as in kzmake-2018."""
    return _draw_groups(view, analysis, by_language(_shown(view, analysis)), framework)


def _shown(view: RunView, analysis: Analysis) -> list[Standing]:
    if not analysis.levels:
        return []
    return [
        standing for standing in analysis.main.standings if standing.cell.rate_per_s(view.aggregate)
    ]


def _draw_groups(
    view: RunView, analysis: Analysis, groups: Groups, named: Callable[[Standing], str]
) -> str | None:
    rows = [standing for group in groups.values() for standing in group]
    if not rows:
        return None
    level = analysis.main
    left = 26 + LETTER * min(NAME_MAX, max(len(named(standing)) for standing in rows))
    most = max(max(_ends(view, level, standing)[1], _length(view, standing)) for standing in rows)
    chart = Chart(view, level, named, left, (svg.WIDTH - left - RIGHT) / most)
    title = _title(view, level)
    heading = svg.title(title)
    top = y = svg.title_height(heading) + 24
    parts = [*heading]
    if level.ranked:
        parts.append(svg.note(svg.WIDTH - 16, top - 4, "rank", "end"))
    colors = svg.colors(len(groups)) if len(groups) > 1 else (svg.BLUE,)
    for color, (head, group) in zip(colors, groups.items(), strict=True):
        if len(groups) > 1:
            parts.append(svg.text(16, y + 20, head, weight=600))
            y += HEAD
        parts.append(svg.line(left, y, left, y + ROW * len(group), svg.LINE))
        for standing in group:
            parts += _row(chart, standing, y, color)
            y += ROW
        y += 8
    parts += _axis(chart, most, y)
    return with_footer(view, analysis, title, parts, y + 48, whiskers=True)


def _title(view: RunView, level: LevelAnalysis) -> str:
    if level.ranked:
        return f"{answer(view, level)}."
    at = numbers.count(level.connections, "connection")
    return f"Requests/s at {at}, {view.protocol.label}; no server is ranked."


def _row(chart: Chart, standing: Standing, y: float, color: str) -> list[str]:
    view, level = chart.view, chart.level
    middle, length = y + ROW / 2, chart.scale * _length(view, standing)
    place = rank(standing) if level.ranked else ""
    shape = (chart.left, middle - BAR / 2, length, BAR)
    unranked = standing.cell.doubtful or (level.ranked and not standing.ranked)
    bar = svg.hatched(*shape) if unranked else [svg.rect(*shape, color, SOLID)]
    low, high = map(chart.x, _ends(view, level, standing))
    whisker: list[str] = []
    if _is_unknown(standing):
        end = chart.left + length
        high = end + FADE_OUT
        for faded in (chart.left, high):
            whisker += svg.fade(end, faded, middle, svg.INK, 1.5)
    elif high > low:
        whisker = svg.whisker(low, high, middle, 5, 1.5)
    right = max(high, chart.left + length) + 8
    return [
        svg.text(
            chart.left - 10, middle + 4.5, chart.named(standing), anchor="end", longest=NAME_MAX
        ),
        *bar,
        *whisker,
        svg.text(right, middle + 4.5, rate(view, standing, level.connections), size=12),
        svg.text(svg.WIDTH - 16, middle + 4.5, place, anchor="end", fill=svg.MUTED, size=12),
    ]


def _length(view: RunView, standing: Standing) -> float:
    """Requests per second."""
    return standing.cell.rate_per_s(view.aggregate) or 0.0


def _ends(view: RunView, level: LevelAnalysis, standing: Standing) -> tuple[float, float]:
    """The whisker's ends as rates: the interval of the ratio to the leader if there is a ranking,
    else the slowest and the fastest trial."""
    length = _length(view, standing)
    if level.ranking is None:
        return standing.cell.spread_per_s or (length, length)
    if standing.row is None or not standing.ranked or _is_unknown(standing):
        return (length, length)
    ratio = standing.row.ratio_to_leader
    return (length * ratio.low / ratio.ratio, length * ratio.high / ratio.ratio)


def _is_unknown(standing: Standing) -> bool:
    """Whether it has a rank, and its interval is too wide to be drawn."""
    if standing.row is None or not standing.ranked:
        return False
    ratio = standing.row.ratio_to_leader
    return not numbers.is_known(ratio.low, ratio.high)


def _axis(chart: Chart, most: float, y: float) -> list[str]:
    step = _step(most)
    ticks = [step * i for i in range(int(most / step) + 1)]
    return [
        *(svg.line(chart.x(t), y, chart.x(t), y + 5, svg.MUTED) for t in ticks),
        *(svg.note(chart.x(t), y + 19, f"{t:,.0f}", "middle") for t in ticks),
        svg.note(svg.WIDTH - 16, y + 19, "requests/s", "end"),
    ]


def _step(most: float) -> float:
    """1, 2 or 5 times a power of ten, so that `most` has three to seven ticks."""
    power = math.pow(10, math.floor(math.log10(most)))
    return next(power * step for step in (2, 1, 0.5, 0.2) if most / (power * step) >= 3)


def draw_profile(view: RunView, analysis: Analysis) -> str | None:
    """Servers in rows, workloads in columns; None for a run of one workload."""
    overview = profile(view)
    if overview is None:
        return None
    left = 26 + LETTER * min(SHARES_NAME_MAX, max(len(row.name) for row in overview.rows))
    width = (svg.WIDTH - 16 - left) / len(overview.levels) - GAP
    workloads = [level.workload for level in overview.levels]
    title = f"Rate as a share of the best, on {numbers.listing(workloads)}"
    parts = svg.title(title)
    top = svg.title_height(parts) + 30
    bottom = top + SHARES_ROW * len(overview.rows)
    colors = svg.colors(len(overview.levels))
    for number, row in enumerate(overview.rows):
        middle = top + SHARES_ROW * (number + 0.5)
        parts.append(
            svg.text(left - 10, middle + 4.5, row.name, anchor="end", longest=SHARES_NAME_MAX)
        )
    for place, (level, color) in enumerate(zip(overview.levels, colors, strict=True)):
        x = left + place * (width + GAP)
        parts.append(svg.text(x, top - 18, level.workload, weight=600, longest=24))
        at = numbers.count(level.connections, "connection")
        parts.append(svg.note(x, top - 5, at))
        parts.append(svg.line(x, top, x, bottom, svg.LINE))
        for number, row in enumerate(overview.rows):
            middle = top + SHARES_ROW * (number + 0.5)
            parts += _share_bar(row.on(level.workload), x, middle, width, color)
    shown = f"workloads {', '.join(workloads)}"
    return with_footer(view, analysis, title, parts, bottom + 24, True, shown)


def _share_bar(share: Share | None, x: float, middle: float, width: float, color: str) -> list[str]:
    """The share in percent behind its bar; a dash where there is none."""
    if share is None or share.ratio is None:
        return [svg.note(x + 4, middle + 4.5, numbers.NONE)]
    room = width - 34  # for the figure
    length = room * min(share.ratio, 1.0)
    shape = (x, middle - SHARES_BAR / 2, length, SHARES_BAR)
    end = length
    if share.low is None or share.high is None:
        parts = svg.hatched(*shape)
    else:
        low, high = (x + room * min(part, 1.1) for part in (share.low, share.high))
        parts = [svg.rect(*shape, color, SOLID)]
        if high > low:
            parts.append(svg.line(low, middle, high, middle, svg.INK, 1.5))
        end = max(length, high - x)
    figure = f"{100 * share.ratio:.0f}"
    return [*parts, svg.text(x + end + 6, middle + 4, figure, size=11)]
