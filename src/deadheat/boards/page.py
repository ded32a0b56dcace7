"""The audit of boards in any format; as HTML one file without scripts, with pictures."""

from collections.abc import Iterator, Sequence
from importlib.resources import files

from deadheat.audit.page import FORMATS as TEXT_FORMATS
from deadheat.audit.page import Section
from deadheat.audit.page import write as write_text
from deadheat.boards.pictures import draw_ranks, draw_rates, draw_repeats
from deadheat.boards.readings import Readings
from deadheat.boards.sections import boards_page, command_of, remember, sections
from deadheat.boards.words import title_of
from deadheat.foreign_text import one_line, printable
from deadheat.report.formats.tables import Column
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
