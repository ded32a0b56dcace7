"""The profile: each server's share of the best on each workload, with its interval."""

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis
from deadheat.report.findings.profile import Profile, Share, profile
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg
from deadheat.report.picture.footer import with_footer

ROW, BAR, GAP = 22, 10, 14
NAME_MAX = 30
LETTER = 7.4  # an upper bound of the mean width of a name's letters, in pixels
SOLID = 0.6


def draw(view: RunView, analysis: Analysis) -> str | None:
    """Servers in rows, workloads in columns; None for a run of one workload."""
    overview = profile(view)
    if overview is None:
        return None
    left = 26 + LETTER * min(NAME_MAX, max(len(row.name) for row in overview.rows))
    width = (svg.WIDTH - 16 - left) / len(overview.levels) - GAP
    title = _title(overview)
    parts = svg.title(title)
    top = svg.title_height(parts) + 30
    bottom = top + ROW * len(overview.rows)
    colors = svg.colors(len(overview.levels))
    for number, row in enumerate(overview.rows):
        middle = top + ROW * (number + 0.5)
        parts.append(svg.text(left - 10, middle + 4.5, row.name, anchor="end", longest=NAME_MAX))
    for place, (level, color) in enumerate(zip(overview.levels, colors, strict=True)):
        x = left + place * (width + GAP)
        parts.append(svg.text(x, top - 18, level.workload, weight=600, longest=24))
        at = numbers.count(level.connections, "connection")
        parts.append(svg.text(x, top - 5, at, fill=svg.MUTED, size=11))
        parts.append(svg.line(x, top, x, bottom, svg.LINE))
        for number, row in enumerate(overview.rows):
            middle = top + ROW * (number + 0.5)
            parts += _bar(row.shares.get(level.workload), x, middle, width, color)
    workloads = f"workloads {', '.join(level.workload for level in overview.levels)}"
    return with_footer(view, analysis, title, parts, bottom + 24, True, workloads)


def _title(overview: Profile) -> str:
    names = numbers.listing([level.workload for level in overview.levels])
    return f"Rate as a share of the best, on {names}"


def _bar(share: Share | None, x: float, middle: float, width: float, color: str) -> list[str]:
    """The share in percent behind its bar; a dash where there is none."""
    if share is None or share.ratio is None:
        return [svg.text(x + 4, middle + 4.5, numbers.NONE, fill=svg.MUTED, size=11)]
    room = width - 34  # for the figure
    length = room * min(share.ratio, 1.0)
    shape = (x, middle - BAR / 2, length, BAR)
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
