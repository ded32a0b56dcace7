"""The top of a board as a picture, for a README and for link previews."""

from collections.abc import Sequence

from deadheat import numbers
from deadheat.edition.findings import separates_text, share_text
from deadheat.edition.model import BoardLevel, Edition
from deadheat.foreign_text import one_line
from deadheat.report.picture import svg
from deadheat.stats.ranking.ranks import Ranking, Row

WIDTH, HEIGHT = 1200, 630  # the size that link previews expect
LEFT, RIGHT, NAMES = 64, 1136, 88
BARS, CELLS = 400, 390  # where figures begin
ROWS, ROW, TOP, HEAD = 9, 42, 164, 150
COLUMNS = 8
WHISKER, EDGE = 3.0, 2
LONGEST = 110  # characters of a line below
MOST = 1.25  # the share at the right end; a longer interval is cut
SOLID = 0.6  # opacity of the best cell, and of a bar: its text and its whisker are visible


def draw_top(edition: Edition) -> str | None:
    """The first servers of the first workload; None without a ranking.

    One workload has bars with intervals, several have a cell for each workload.
    """
    ranked = [(level, level.ranking) for level in edition.levels if level.ranking]
    if not ranked:
        return None
    (first, ranking), *others = ranked
    rows = ranking.rows[:ROWS]
    servers = numbers.count(len(edition.servers), "HTTP server")
    heading = f"{servers}, {numbers.count(len(edition.levels), 'workload')}"
    parts = [
        svg.text(LEFT, 66, "deadheat", fill=svg.MUTED, size=24, weight=600),
        svg.text(LEFT, 122, heading, size=46, weight=700),
        *(_name(row, i) for i, row in enumerate(rows)),
        *(_cells(ranked[:COLUMNS], rows) if others else _bars(rows)),
        *_braces(ranking, rows),
    ]
    workload = first.level.workload
    what = f"on each workload, in the order of {workload}" if others else "with intervals"
    separates = separates_text([first])
    lines = [
        f"% of the best {what}; a brace is a dead heat on {workload}",
        f"On {workload}, {separates[0].lower()}{separates[1:]}" if others else separates,
        f"{edition.newest.started_at:%Y-%m-%d}, {edition.newest.machine}",
    ]
    for i, line in enumerate(lines):
        y = HEIGHT - 58 + 22 * i
        parts.append(svg.text(LEFT, y, line, fill=svg.MUTED, size=17, longest=LONGEST))
    return svg.document(HEIGHT, heading, parts, WIDTH)


def _y(place: int) -> float:
    return float(TOP + ROW * place)


def _name(row: Row, place: int) -> str:
    return svg.text(NAMES, _y(place) + 27, one_line(row.name, 26), size=20, weight=600)


def _bars(rows: Sequence[Row]) -> list[str]:
    scale = (RIGHT - BARS) / MOST
    parts = []
    for place, row in enumerate(rows):
        y, ratio = _y(place), row.ratio_to_leader
        parts += [
            svg.rect(BARS, y + 8, scale * min(ratio.ratio, MOST), ROW - 16, svg.BLUE, SOLID),
            svg.text(BARS - 12, y + 27, share_text(ratio.ratio), anchor="end", size=20),
        ]
        if place and numbers.is_known(ratio.low, ratio.high):
            low, high = (BARS + scale * min(end, MOST) for end in (ratio.low, ratio.high))
            parts.append(svg.line(low, y + ROW / 2, high, y + ROW / 2, svg.INK, WHISKER))
    return parts


def _cells(columns: Sequence[tuple[BoardLevel, Ranking]], rows: Sequence[Row]) -> list[str]:
    width = (RIGHT - CELLS) / len(columns)
    parts = []
    for i, (level, ranking) in enumerate(columns):
        x = CELLS + width * i
        name = one_line(level.level.workload, 12)
        parts.append(
            svg.text(x + width / 2, HEAD + 8, name, anchor="middle", fill=svg.MUTED, size=18)
        )
        shares = {row.name: row.ratio_to_leader.ratio for row in ranking.rows}
        for place, row in enumerate(rows):
            y, share = _y(place), shares.get(row.name)
            shown = numbers.NONE if share is None else share_text(share)
            box = (x + EDGE, y + EDGE, width - 2 * EDGE, ROW - 2 * EDGE)
            parts += [
                svg.rect(*box, svg.BLUE, round(SOLID * min(share or 0.0, 1.0), 3)),
                svg.text(x + width / 2, y + 27, shown, anchor="middle", size=20),
            ]
    return parts


def _braces(ranking: Ranking, rows: Sequence[Row]) -> list[str]:
    names = [row.name for row in rows]
    parts = []
    for group in ranking.dead_heats:
        places = [names.index(name) for name in group if name in names]
        if len(places) > 1:
            x, first, last = LEFT + 8, _y(places[0]) + 12, _y(places[-1]) + ROW - 12
            parts += [
                svg.line(x, first, x, last, svg.INK, WHISKER),
                svg.line(x, first, x + 8, first, svg.INK, WHISKER),
                svg.line(x, last, x + 8, last, svg.INK, WHISKER),
            ]
    return parts
