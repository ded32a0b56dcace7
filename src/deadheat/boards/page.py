"""The audit of boards in any format; as HTML one file without scripts, with pictures: places of the
first fifty, repeats as a scatter, rates as a histogram.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files

from deadheat import numbers
from deadheat.audit.page import FORMATS as TEXT_FORMATS
from deadheat.audit.page import Section
from deadheat.audit.page import write as write_text
from deadheat.boards.readings import RankPicture, RatePicture, Readings, RepeatPicture
from deadheat.boards.sections import boards_page, command_of, remember, sections
from deadheat.boards.words import same_of, title_of
from deadheat.foreign_text import one_line, printable
from deadheat.report.formats.tables import Column
from deadheat.report.picture import svg
from deadheat.serve.markup import FRAME, MORE_STYLE, Html, NumberCell, table, text

FORMATS = (*TEXT_FORMATS, "html")
PICTURED = 2  # tables of each board with all three pictures
STYLE = """
.chart { overflow-x: auto; border: 1px solid var(--line); margin: 1rem 0; max-width: 56rem; }
.chart svg { display: block; min-width: 42rem; width: 100%; height: auto; }
.lead li { margin: .4rem 0; }
section p, section li { max-width: 48rem; }
td:nth-child(2) { white-space: nowrap; }
@media (max-width: 48rem) { td:nth-child(2) { white-space: normal; } }
"""


def write(readings: Readings, format_name: str, regenerate: Sequence[str] = ()) -> str:
    """The audit in one of `FORMATS`, ending with a newline."""
    if format_name == "json":
        return printable(readings.to_json()) + "\n"
    if format_name == "html":
        return _html(readings)
    return write_text(boards_page(readings), format_name, regenerate)


def _html(readings: Readings) -> str:
    style = files("deadheat.serve").joinpath("site.css").read_text(encoding="utf-8")
    lead = "".join(f"<li>{text(one_line(line, 600))}</li>" for line in remember(readings))
    parts = [
        Html(f'<ol class="lead">{lead}</ol>'),
        *_pictures(readings),
        *(part for section in sections(readings) for part in _section(section)),
        Html(f"<p><code>{text(one_line(command_of(readings)))}</code></p>"),
    ]
    return FRAME.format(
        styles="'unsafe-inline'",
        forms="'none'",
        head=f'<meta name="generator" content="deadheat audit">\n'
        f"<style>{style}{MORE_STYLE}{STYLE}</style>",
        title=text(one_line(boards_page(readings).title)),
        header='<span class="brand">deadheat</span>',
        body="\n".join(parts),
    )


def _pictures(readings: Readings) -> Iterator[Html]:
    for board in readings.boards:
        yield Html(f"<h2>{text(title_of(board.name))}: pictures</h2>")
        ranks = [each for each in readings.ranks if each.board == board.name]
        repeats = [each for each in readings.repeats if each.board == board.name]
        rates = [each for each in readings.rates if each.board == board.name]
        rates.sort(key=lambda each: each.crowd_low is None)  # those with a plateau first
        yield from (_chart(draw_ranks(each)) for each in ranks[:PICTURED])
        yield from (_chart(draw_repeats(each)) for each in repeats[:PICTURED])
        yield from (_chart(draw_rates(each)) for each in rates[:PICTURED])


def _chart(svg: str) -> Html:
    """A picture that keeps its size, and scrolls where the page is narrow."""
    return Html(f'<div class="chart" tabindex="0" role="group">{svg}</div>')


def _section(section: Section) -> Iterator[Html]:
    yield Html(f"<section><h2>{text(section.title)}</h2>")
    for line in section.lines:
        yield Html(f"<p>{text(one_line(line, 600))}</p>")
    if section.table:
        header = [_cell(column, column.header) for column in section.table]
        rows = zip(*(column.cells for column in section.table), strict=True)
        cells = [
            [_cell(column, cell) for column, cell in zip(section.table, row, strict=True)]
            for row in rows
        ]
        yield table(section.title, header, cells)
    if section.notes:
        notes = "".join(f"<li>{text(one_line(note, 3000))}</li>" for note in section.notes)
        yield Html(f"<ul>{notes}</ul>")
    yield Html("</section>")


def _cell(column: Column, words: str) -> object:
    shown = one_line(words)
    return NumberCell(shown) if column.right else shown


ROW, LEFT, RIGHT, TOP = 15, 190, 120, 24
HEIGHT = 250
MOST = 1.0  # log ratio at the edge of the scatter; a repeat beyond it is drawn there
TICKS = (0.4, 0.5, 0.7, 0.85, 1, 1.18, 1.4, 2, 2.5)


def draw_ranks(picture: RankPicture) -> str:
    """Each entry's places as a line, with an upright at the published one."""
    title = (
        f"{title_of(picture.board)}, {picture.profile}: places that the noise allows, "
        f"{len(picture.placed)} of {picture.entries}"
    )
    parts = svg.title(title)
    top = svg.title_height(parts) + TOP
    most = max(entry.last for entry in picture.placed)
    scale = (svg.WIDTH - LEFT - RIGHT) / max(most - 1, 1)
    bottom = top + ROW * len(picture.placed)
    for place in _steps(most):
        x = LEFT + scale * (place - 1)
        parts.append(svg.line(x, top - 4, x, bottom, svg.LINE))
        parts.append(svg.text(x, top - 8, str(place), anchor="middle", fill=svg.MUTED, size=11))
    for number, entry in enumerate(picture.placed):
        middle = top + ROW * (number + 0.5)
        low, high = (LEFT + scale * (place - 1) for place in (entry.first, entry.last))
        rate = numbers.rate(entry.rate_per_s)
        parts += [
            svg.text(LEFT - 10, middle + 4, entry.entry, anchor="end", size=11, longest=26),
            svg.line(low, middle, high, middle, svg.BLUE, 3),
            svg.line(
                LEFT + scale * number, middle - 5, LEFT + scale * number, middle + 5, svg.INK, 2
            ),
            svg.text(svg.WIDTH - 12, middle + 4, rate, anchor="end", fill=svg.MUTED, size=11),
        ]
    parts.append(
        svg.text(
            16,
            bottom + 22,
            f"edition {picture.edition}; upright: the published place; right: requests/s",
            fill=svg.MUTED,
            size=11,
        )
    )
    return svg.document(bottom + 34, title, parts)


def _steps(most: int) -> Iterator[int]:
    """Place 1, and round places."""
    step = next((each for each in (1, 2, 5, 10, 20, 50, 100) if most / each <= 12), 200)
    yield 1
    yield from range(step if step > 1 else 2, most + 1, step)


def draw_repeats(picture: RepeatPicture) -> str:
    """Later over earlier rate, by the earlier rate."""
    title = (
        f"{title_of(picture.board)}, {picture.profile}: {len(picture.ratios)} repeats, "
        f"{same_of(picture.board)}"
    )
    parts = svg.title(title)
    top = svg.title_height(parts) + 10
    left, right = 70, svg.WIDTH - 24
    logs = [math.log(rate) for rate in picture.rates_per_s]
    first, last = min(logs) - 0.05, max(logs) + 0.05

    def x_of(rate: float) -> float:
        return left + (right - left) * (math.log(rate) - first) / (last - first)

    def y_of(ratio: float) -> float:
        return top + HEIGHT * (0.5 - max(-MOST, min(MOST, math.log(ratio))) / MOST / 2)

    for tick in TICKS:
        y = y_of(tick)
        parts.append(svg.line(left, y, right, y, svg.INK if tick == 1 else svg.LINE))
        parts.append(svg.text(left - 8, y + 4, f"{tick:g}", anchor="end", fill=svg.MUTED, size=11))
    parts += _rate_axis(math.exp(first), math.exp(last), x_of, top + HEIGHT)
    for rate, ratio in zip(picture.rates_per_s, picture.ratios, strict=True):
        beyond = abs(math.log(ratio)) > MOST
        color = svg.PALETTE[1] if beyond else svg.BLUE
        parts.append(svg.rect(x_of(rate) - 2.5, y_of(ratio) - 2.5, 5, 5, color, 0.7))
    note = "later rate over earlier rate; orange: beyond the scale"
    parts.append(svg.text(16, top + HEIGHT + 38, note, fill=svg.MUTED, size=11))
    return svg.document(top + HEIGHT + 50, title, parts)


def draw_rates(picture: RatePicture) -> str:
    """How many entries have which rate; a plateau is in another color."""
    title = f"{title_of(picture.board)}, {picture.profile}: entries by rate"
    parts = svg.title(title)
    top = svg.title_height(parts) + 10
    left, right = 70, svg.WIDTH - 24
    first, last = math.log(picture.edges[0]), math.log(picture.edges[-1])
    most = max(picture.counts)

    def x_of(rate: float) -> float:
        return left + (right - left) * (math.log(rate) - first) / (last - first)

    for count in dict.fromkeys((0, round(most / 2), most)):
        y = top + HEIGHT * (1 - count / most)
        parts.append(svg.line(left, y, right, y, svg.LINE))
        parts.append(svg.text(left - 8, y + 4, str(count), anchor="end", fill=svg.MUTED, size=11))
    for low, high, count in zip(picture.edges, picture.edges[1:], picture.counts, strict=False):
        crowded = (
            picture.crowd_low is not None
            and picture.crowd_high is not None
            and low <= picture.crowd_high
            and high >= picture.crowd_low
        )
        height = HEIGHT * count / most
        color = svg.PALETTE[1] if crowded else svg.BLUE
        if count:
            width = x_of(high) - x_of(low) - 1
            parts.append(svg.rect(x_of(low), top + HEIGHT - height, width, height, color))
    parts += _rate_axis(picture.edges[0], picture.edges[-1], x_of, top + HEIGHT)
    note = f"entries in each step of the rate; edition {picture.edition}" + (
        "; orange: the plateau" if picture.crowd_low is not None else ""
    )
    parts.append(svg.text(16, top + HEIGHT + 38, note, fill=svg.MUTED, size=11))
    return svg.document(top + HEIGHT + 50, title, parts)


def _rate_axis(low: float, high: float, x_of: Callable[[float], float], y: float) -> list[str]:
    """Ticks at 1, 2 and 5 times powers of ten; at powers alone over a wide range."""
    wide = high / low > 200
    steps = (1,) if wide else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    parts = []
    for tick in ticks:
        if low <= tick <= high:
            x = x_of(tick)
            parts.append(svg.line(x, y, x, y + 5, svg.MUTED))
            words = numbers.figure(tick)
            parts.append(svg.text(x, y + 19, words, anchor="middle", fill=svg.MUTED, size=11))
    parts.append(
        svg.text(svg.WIDTH - 12, y + 38, "requests/s", anchor="end", fill=svg.MUTED, size=11)
    )
    return parts
