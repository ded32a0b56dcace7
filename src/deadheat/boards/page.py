"""The audit of boards in any format; as HTML one file without scripts, with pictures: places of the
first fifty, repeats as a scatter, rates as a histogram.
"""

import math
import shlex
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from deadheat import numbers
from deadheat.audit.page import FORMATS as TEXT_FORMATS
from deadheat.audit.page import Section
from deadheat.audit.page import write as write_text
from deadheat.boards.readings import RankPicture, RatePicture, Readings, RepeatPicture
from deadheat.boards.sections import boards_page
from deadheat.boards.words import same_of, title_of
from deadheat.foreign_text import one_line, printable
from deadheat.report.formats.tables import Column
from deadheat.report.picture import svg
from deadheat.serve.markup import FRAME, MORE_STYLE, Html, NumberCell, asset, table, text

FORMATS = (*TEXT_FORMATS, "html")
PICTURED = 2  # tables of each board with all three pictures
STYLE = """
.chart { border: 1px solid var(--line); margin: 1rem 0; max-width: 56rem; }
.chart svg { display: block; width: 100%; height: auto; }
.chart .narrow { display: none; }
.lead li { margin: .4rem 0; }
section p, section li { max-width: 48rem; }
td:nth-child(2) { white-space: nowrap; }
@media (max-width: 48rem) {
  td:nth-child(2) { white-space: normal; }
  .chart .broad { display: none; }
  .chart .narrow { display: block; }
}
"""


def write(readings: Readings, format_name: str, regenerate: Sequence[str] = ()) -> str:
    """The audit in one of `FORMATS`, ending with a newline."""
    if format_name == "json":
        return printable(readings.to_json()) + "\n"
    if format_name == "html":
        return _html(readings)
    return write_text(boards_page(readings), format_name, regenerate)


def _html(readings: Readings) -> str:
    page = boards_page(readings)
    lead = "".join(f"<li>{text(one_line(line, 600))}</li>" for line in page.heading)
    parts = [
        Html(f'<ol class="lead">{lead}</ol>'),
        *_pictures(readings),
        *(part for section in page.sections for part in _section(section)),
        Html(f"<p><code>{text(one_line(shlex.join(page.command)))}</code></p>"),
    ]
    return FRAME.format(
        styles="'unsafe-inline'",
        forms="'none'",
        head=f'<meta name="generator" content="deadheat audit">\n'
        f"<style>{asset('site.css')}{MORE_STYLE}{STYLE}</style>",
        title=text(one_line(page.title)),
        header='<span class="brand">deadheat</span>',
        body="\n".join(parts),
        scripts="",
    )


def _pictures(readings: Readings) -> Iterator[Html]:
    for board in readings.boards:
        yield Html(f"<h2>{text(title_of(board.name))}: pictures</h2>")
        ranks = [each for each in readings.ranks if each.board == board.name]
        repeats = [each for each in readings.repeats if each.board == board.name]
        rates = [each for each in readings.rates if each.board == board.name]
        rates.sort(key=lambda each: each.crowd_low is None)  # those with a plateau first
        yield from (_chart(partial(draw_ranks, each)) for each in ranks[:PICTURED])
        yield from (_chart(partial(draw_repeats, each)) for each in repeats[:PICTURED])
        yield from (_chart(partial(draw_rates, each)) for each in rates[:PICTURED])


def _chart(draw: Callable[[float], str]) -> Html:
    """A picture for a broad and one for a narrow screen, of which one is shown."""
    return Html(
        f'<div class="chart"><div class="broad">{draw(svg.WIDTH)}</div>'
        f'<div class="narrow">{draw(NARROW)}</div></div>'
    )


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


NARROW = 358.0  # a phone's 390 without its margins
ROW, TOP, HEIGHT = 15, 24, 250
LETTER = 6.2  # width of one of the small text
LABEL_APART = 46  # the least distance of labels of an axis
MOST = 1.0  # log ratio at the edge of the scatter; a repeat beyond it is drawn there
TICKS = (0.4, 0.5, 0.7, 0.85, 1, 1.18, 1.4, 2, 2.5)


def draw_ranks(picture: RankPicture, width: float) -> str:
    """Each entry's places as a line, with an upright at the published one."""
    title = (
        f"{title_of(picture.board)}, {picture.profile}: places that the noise allows, "
        f"{len(picture.placed)} of {picture.entries}"
    )
    left, right, longest = (190, 120, 26) if width > NARROW else (124, 68, 16)
    parts, top = _heading(title, width)
    top += TOP
    most = max(entry.last for entry in picture.placed)
    scale = (width - left - right) / max(most - 1, 1)
    bottom = top + ROW * len(picture.placed)
    for place in _steps(most, (width - left - right) / LABEL_APART):
        x = left + scale * (place - 1)
        parts.append(svg.line(x, top - 4, x, bottom, svg.LINE))
        parts.append(svg.text(x, top - 8, str(place), anchor="middle", fill=svg.MUTED, size=11))
    for number, entry in enumerate(picture.placed):
        middle = top + ROW * (number + 0.5)
        low, high, published = (
            left + scale * (place - 1) for place in (entry.first, entry.last, number + 1)
        )
        rate = numbers.rate(entry.rate_per_s)
        parts += [
            svg.text(left - 8, middle + 4, entry.entry, anchor="end", size=11, longest=longest),
            svg.line(low, middle, high, middle, svg.BLUE, 3),
            svg.line(published, middle - 5, published, middle + 5, svg.INK, 2),
            svg.text(width - 10, middle + 4, rate, anchor="end", fill=svg.MUTED, size=11),
        ]
    note = f"edition {picture.edition}; upright: the published place; right: requests/s"
    return _document(bottom + 22, title, parts, note, width)


def _steps(most: int, labels: float) -> Iterator[int]:
    """Place 1, and round places; about as many as there is room for."""
    step = next((each for each in (1, 2, 5, 10, 20, 50, 100) if most / each <= labels), 200)
    yield 1
    yield from range(step if step > 1 else 2, most + 1, step)


def draw_repeats(picture: RepeatPicture, width: float) -> str:
    """Later over earlier rate, by the earlier rate."""
    title = (
        f"{title_of(picture.board)}, {picture.profile}: {len(picture.ratios)} repeats, "
        f"{same_of(picture.board)}"
    )
    parts, top = _heading(title, width)
    left, right = _sides(width)
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
    note = (
        "up: later rate over earlier rate; right: the earlier one in requests/s; orange: beyond "
        "the scale"
    )
    return _document(top + HEIGHT + 38, title, parts, note, width)


def draw_rates(picture: RatePicture, width: float) -> str:
    """How many entries have which rate; a plateau is in another color."""
    title = f"{title_of(picture.board)}, {picture.profile}: entries by rate"
    parts, top = _heading(title, width)
    left, right = _sides(width)
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
            bar = x_of(high) - x_of(low) - 1
            parts.append(svg.rect(x_of(low), top + HEIGHT - height, bar, height, color))
    parts += _rate_axis(picture.edges[0], picture.edges[-1], x_of, top + HEIGHT)
    note = f"up: entries; right: requests/s; edition {picture.edition}" + (
        "; orange: the plateau" if picture.crowd_low is not None else ""
    )
    return _document(top + HEIGHT + 38, title, parts, note, width)


def _heading(title: str, width: float) -> tuple[list[str], float]:
    """The title, and where the picture begins."""
    parts = svg.title(title, svg.TITLE_CHARS if width > NARROW else 32)
    return parts, svg.title_height(parts) + 10


def _sides(width: float) -> tuple[float, float]:
    return (70, width - 24) if width > NARROW else (42, width - 16)


def _document(y: float, title: str, parts: list[str], note: str, width: float) -> str:
    """The file, with the note in as many lines as it takes."""
    lines = textwrap.wrap(note, int((width - 32) / LETTER))
    for number, line in enumerate(lines):
        parts.append(svg.text(16, y + svg.STEP * number, line, fill=svg.MUTED, size=11))
    return svg.document(y + svg.STEP * len(lines), title, parts, width)


def _rate_axis(low: float, high: float, x_of: Callable[[float], float], y: float) -> list[str]:
    """Ticks at 1, 2 and 5 times powers of ten, where there is room; at powers over a wide range."""
    wide = high / low > 200
    steps = (1,) if wide else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    parts, last_x = [], -math.inf
    for tick in ticks:
        x = x_of(tick)
        if low <= tick <= high and x - last_x >= LABEL_APART:
            words, last_x = numbers.figure(tick), x
            parts.append(svg.line(x, y, x, y + 5, svg.MUTED))
            parts.append(svg.text(x, y + 19, words, anchor="middle", fill=svg.MUTED, size=11))
    return parts
