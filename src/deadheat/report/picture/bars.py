"""The bar chart: each server's rate with its interval, in groups."""

import math
from collections.abc import Mapping, Sequence

from deadheat.report import words
from deadheat.report.analysis import Analysis, Level, Standing
from deadheat.report.headline import answer
from deadheat.report.picture import svg
from deadheat.report.picture.footer import footer
from deadheat.report.tables import rank, rate
from deadheat.report.view import RunView

LEFT, RIGHT = 230, 140
ROW, BAR, HEAD = 24, 12, 26
NAME_MAX = 27
SOLID = 0.6  # a whisker has to be seen in front of it

Groups = Mapping[str, Sequence[Standing]]


def draw(view: RunView, analysis: Analysis) -> str | None:
    """In groups by workers, as woo-2016 has one picture for one core and one for four."""
    standings = _shown(view, analysis)
    counts = sorted({one.contender.workers for one in standings})
    groups = {
        words.count(count, "worker"): [s for s in standings if s.contender.workers == count]
        for count in counts
    }
    return _chart(view, analysis, groups if len(groups) > 1 else {"": standings})


def draw_by_language(view: RunView, analysis: Analysis) -> str | None:
    """In groups by language, the language of the fastest first, as kzmake-2018 tells them apart."""
    groups: dict[str, list[Standing]] = {}
    for one in _shown(view, analysis):
        groups.setdefault(one.contender.language or "no language told", []).append(one)
    return _chart(view, analysis, groups)


def _shown(view: RunView, analysis: Analysis) -> list[Standing]:
    if not analysis.levels:
        return []
    return [one for one in analysis.main.standings if one.cell.rate_per_s(view.aggregate)]


def _chart(view: RunView, analysis: Analysis, groups: Groups) -> str | None:
    rows = [one for group in groups.values() for one in group]
    if not rows:
        return None
    level = analysis.main
    most = max(max(_ends(view, level, one)[1], _length(view, one)) for one in rows)
    scale = (svg.WIDTH - LEFT - RIGHT) / most
    title = svg.title(f"{answer(view, level)}.")
    top = y = svg.title_height(title) + 24
    parts = [
        *title,
        svg.text(svg.WIDTH - 16, top - 4, "rank", anchor="end", fill=svg.MUTED, size=11),
    ]
    for place, (head, group) in enumerate(groups.items()):
        if head:
            parts.append(svg.text(16, y + 20, head, weight=600, longest=NAME_MAX))
            y += HEAD
        colour = svg.PALETTE[place % len(svg.PALETTE)] if len(groups) > 1 else svg.BLUE
        for one in group:
            parts += _row(view, level, one, y, scale, colour)
            y += ROW
        y += 8
    parts += _axis(most, scale, top, y)
    foot = footer(view, analysis, y + 48)
    return svg.document(y + 48 + svg.STEP * len(foot), answer(view, level), [*parts, *foot])


def _row(
    view: RunView, level: Level, one: Standing, y: float, scale: float, colour: str
) -> list[str]:
    middle, length = y + ROW / 2, scale * _length(view, one)
    place = f"{rank(one)}  " if one.ranked else ""
    shape = (LEFT, middle - BAR / 2, length, BAR)
    bar = svg.outline(*shape) if one.cell.doubtful else svg.rect(*shape, colour, SOLID)
    low, high = (LEFT + scale * end for end in _ends(view, level, one))
    whisker = [
        svg.line(low, middle, high, middle, svg.INK, 1.5),
        *(svg.line(end, middle - 5, end, middle + 5, svg.INK, 1.5) for end in (low, high)),
    ]
    right = max(high, LEFT + length) + 8
    return [
        svg.text(LEFT - 10, middle + 4.5, one.name, anchor="end", longest=NAME_MAX),
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
    if not math.isfinite(ratio.high) or ratio.high > words.UNKNOWN_FACTOR * ratio.low:
        return (length, length)
    return (length * ratio.low / ratio.ratio, length * ratio.high / ratio.ratio)


def _axis(most: float, scale: float, top: float, y: float) -> list[str]:
    step = _step(most)
    ticks = [step * i for i in range(int(most / step) + 1)]
    return [
        svg.line(LEFT, top, LEFT, y, svg.LINE),
        *(svg.line(LEFT + scale * t, y, LEFT + scale * t, y + 5, svg.MUTED) for t in ticks),
        *(
            svg.text(
                LEFT + scale * t, y + 19, f"{t:,.0f}", anchor="middle", fill=svg.MUTED, size=11
            )
            for t in ticks
        ),
        svg.text(svg.WIDTH - 16, y + 19, "requests/s", anchor="end", fill=svg.MUTED, size=11),
    ]


def _step(most: float) -> float:
    """1, 2 or 5 times a power of ten, three to seven times in `most`."""
    power = math.pow(10, math.floor(math.log10(most)))
    return next(power * step for step in (2, 1, 0.5, 0.2) if most / (power * step) >= 3)
