"""The board's top as a picture for link previews."""

import textwrap

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.picture import svg
from deadheat.serve.edition import Edition
from deadheat.serve.edition_findings import separates_text
from deadheat.stats.ranking.ranks import dead_heats

WIDTH, HEIGHT = 1200, 630  # the size that link previews expect
LEFT, RIGHT, BARS = 64, 1136, 400
ROWS, ROW = 9, 42
WHISKER = 3.0
LONGEST = 116  # characters of a line below
MOST = 1.25  # the share at the right end; a longer interval is cut


def draw_top(edition: Edition) -> str | None:
    """The first servers of the first workload, with intervals; None without a ranking."""
    level = next((each for each in edition.levels if each.ranking), None)
    if level is None or level.ranking is None:
        return None
    rows = level.ranking.rows[:ROWS]
    servers = numbers.count(len(edition.servers), "HTTP server")
    workloads = numbers.count(len(edition.levels), "workload")
    heading = f"{servers}, {workloads}"
    parts = [
        svg.text(LEFT, 66, "deadheat", fill=svg.MUTED, size=24, weight=600),
        svg.text(LEFT, 122, heading, size=46, weight=700),
    ]
    scale = (RIGHT - BARS) / MOST
    top = 160.0
    for i, row in enumerate(rows):
        y = top + ROW * i
        ratio = row.ratio_to_leader
        parts += [
            svg.text(LEFT + 24, y + 22, one_line(row.name, 28), size=22, weight=600),
            svg.rect(BARS, y + 4, scale * min(ratio.ratio, MOST), ROW - 16, svg.BLUE, 0.6),
            svg.text(BARS - 12, y + 22, f"{100 * ratio.ratio:.0f}", anchor="end", size=22),
        ]
        if i and numbers.is_known(ratio.low, ratio.high):
            ends = [BARS + scale * min(end, MOST) for end in (ratio.low, ratio.high)]
            middle = y + 4 + (ROW - 16) / 2
            parts.append(svg.line(ends[0], middle, ends[1], middle, svg.INK, WHISKER))
    names = [row.name for row in rows]
    for group in dead_heats(level.ranking):
        places = [names.index(name) for name in group if name in names]
        if len(places) > 1:
            first, last = top + ROW * places[0] + 8, top + ROW * places[-1] + ROW - 18
            parts += [
                svg.line(LEFT + 8, first, LEFT + 8, last, svg.INK, WHISKER),
                svg.line(LEFT + 8, first, LEFT + 16, first, svg.INK, WHISKER),
                svg.line(LEFT + 8, last, LEFT + 16, last, svg.INK, WHISKER),
            ]
    newest = edition.newest
    lines = [
        f"{level.level.workload}: % of the best, with intervals; a brace is a dead heat. "
        f"{separates_text(edition)}",
        f"{newest.started_at:%Y-%m-%d}, {newest.machine}",
    ]
    for i, line in enumerate(lines):
        shown = textwrap.shorten(one_line(line), LONGEST, placeholder=" ...")
        parts.append(
            svg.text(LEFT, HEIGHT - 56 + 26 * i, shown, fill=svg.MUTED, size=19, longest=LONGEST)
        )
    return svg.document(HEIGHT, heading, parts, WIDTH)
