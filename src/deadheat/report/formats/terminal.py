"""The report on a terminal: the answer, one table, what is known and open; details on request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deadheat import numbers
from deadheat.console import console as make_console
from deadheat.console import fit
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, analyze
from deadheat.report.findings.cautions import cautions, none_found
from deadheat.report.findings.common_rate import objective
from deadheat.report.findings.conclusion import answer, conclusions
from deadheat.report.findings.footprint import is_asked
from deadheat.report.findings.heading import command_line, heading, measured
from deadheat.report.findings.points import Point, points
from deadheat.report.findings.precision import runs_alone
from deadheat.report.findings.profile import Profile, profile
from deadheat.report.findings.profile import sentences as predictions
from deadheat.report.findings.scaling import curves, scaling_sentences, scaling_title
from deadheat.report.formats.cost_tables import (
    FOOTPRINT_NOTE,
    HANDSHAKES,
    HANDSHAKES_NOTE,
    footprint_columns,
    handshake_columns,
    rate_tables,
    transport_tables,
)
from deadheat.report.formats.explained import (
    TITLE,
    explanation_columns,
    explanation_details,
    explanation_points,
)
from deadheat.report.formats.tables import (
    PROFILE,
    Column,
    capacity_columns,
    notes,
    offered_columns,
    profile_columns,
    ranking_columns,
    remarks,
    scaling_columns,
    short_columns,
    with_bars,
)
from deadheat.report.model.view import RunView
from deadheat.store.listing import short_id

GAP = 2
ADVICE_INDENT = 4
TOPIC_WIDTH = 12
STYLES = {"KNOWN": "bold green", "OPEN": "bold cyan", "CAUTION": "bold yellow"}
SPARE = ("version", "language", "trials")  # left out rather than put into another table


def write(view: RunView, source: str | None = None, verbose: bool = False) -> str:
    """The report at standard output's width and encoding, with colors only on a terminal."""
    console = make_console()
    return fit(shown(console, view, source, verbose), console.encoding)


def shown(console: Console, view: RunView, source: str | None = None, verbose: bool = False) -> str:
    """The report as the console prints it. No text in it is interpreted as markup."""
    source = source or short_id(view.run_id)
    parts: list[RenderableType] = []
    overview = profile(view)
    if overview is not None:
        parts += _profile(view, overview, console.width)
    for each in view.by_workload:
        analysis = analyze(each)
        if overview is not None:
            parts.append(Text(f"\n{one_line(each.workload)}\n", style="bold underline"))
        is_last = each.workload == view.workloads[-1]
        explains = overview is None
        parts += _answer(each, analysis, source, console.width, is_last, explains)
        if verbose:
            parts += [Text("\nDetails", style="bold"), *_details(each, analysis, console.width)]
    with console.capture() as capture:
        console.print(Group(*parts), highlight=False, emoji=False, crop=False)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def _answer(
    view: RunView, analysis: Analysis, source: str, width: int, is_last: bool, explains: bool
) -> Iterator[RenderableType]:
    """The answer, what was measured, one table, and the points."""
    if analysis.levels:
        yield Text(f"{one_line(answer(view, analysis.main))}.\n", style="bold")
    yield Text(f"{measured(view, analysis)}\n", style="dim")
    if is_asked(view):
        yield from _footprint(view, width)
    elif view.races and analysis.levels and analysis.main.standings:
        columns = short_columns(view, analysis)
        if not runs_alone(view):
            columns = _with_braces(columns, analysis.main)
        room = width - _width(columns) - GAP
        yield _TextTable(with_bars(columns, analysis.main, room), analysis.main)
        if texts := remarks(view, analysis):
            yield Text("; ".join(texts), style="dim")
        yield Text()
        if columns := handshake_columns(view):
            yield Text(HANDSHAKES, style="bold")
            yield _TextTable(columns)
            yield Text(f"{HANDSHAKES_NOTE}\n", style="dim")
    elif of_rates := rate_tables(view):
        for title, columns in of_rates:
            yield Text(title, style="bold")
            yield _TextTable(columns)
            yield Text()
    elif searched := capacity_columns(view):
        yield Text(f"The highest rate that held {objective(view)}", style="bold")
        yield _TextTable(searched)
        yield Text()
    if offered := offered_columns(view):
        yield _TextTable(offered)
        yield Text("latency is the response time from the moment each request was due\n", "dim")
    lines = scaling_sentences(curves(view, analysis.main)) if analysis.levels else ()
    scaling = [Point("SCALING", line) for line in lines]
    if explains:
        scaling = [*explanation_points(view), *scaling]
        yield from _explanation(view, width)
    shown = [p for p in points(view, analysis, source) if is_last or p.topic != "SEE"]
    yield from _point_lines([*scaling, *shown], width)


def _profile(view: RunView, overview: Profile, width: int) -> Iterator[RenderableType]:
    """The servers over all workloads, before what each of these shows."""
    yield Text(f"{PROFILE}\n", style="bold")
    yield Text(f"{measured(view, analyze(view))}\n", style="dim")
    yield from _tables(profile_columns(overview), width)
    for title, columns in transport_tables(overview.transports):
        yield Text(f"{title}\n", style="bold")
        yield from _tables(columns, width)
    yield from (Text(one_line(line)) for line in predictions(overview))
    if explained := [*explanation_points(view)]:
        yield Text()
        yield from _explanation(view, width)
        yield from _point_lines(explained, width)


def _explanation(view: RunView, width: int) -> Iterator[RenderableType]:
    """What was counted of each contender that was explained."""
    if columns := explanation_columns(view):
        yield Text(TITLE, style="bold")
        yield from _tables(columns, width)


def _tables(columns: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """The columns as one table or as several, with an empty line after each."""
    for page in pages(columns, width)[0]:
        yield _TextTable(page)
        yield Text()


def _with_braces(columns: Sequence[Column], level: LevelAnalysis) -> list[Column]:
    """The columns with a brace behind each rank of a dead heat."""
    rank, braces = columns[0], _braces(level).cells
    longest = max(map(cell_len, rank.cells))
    cells = [f"{cell:<{longest}} {brace}" for cell, brace in zip(rank.cells, braces, strict=True)]
    return [Column(rank.header, tuple(cells), right=False), *columns[1:]]


def _point_lines(all_points: Sequence[Point], width: int) -> Iterator[RenderableType]:
    """A topic, its texts with a hanging indent, and each command whole on one line."""
    topics = [point.topic for point in all_points]
    indent = max(map(len, topics), default=0) + GAP
    for place, point in enumerate(all_points):
        topic = point.topic if place == 0 or topics[place - 1] != point.topic else ""
        alike = [other for other in all_points if other.topic == point.topic and other.figures]
        pad = max((cell_len(other.text) for other in alike), default=0)
        texts = [point.text.ljust(pad) if point.figures else point.text, point.figures]
        body = "  ".join(filter(None, texts))
        if cell_len(body) > width - indent and point.figures:
            body = f"{point.text}\n{point.figures}"
        beside = cell_len(body) + GAP + cell_len(point.command) <= width - indent
        if point.command and beside:
            body += f"{' ' * GAP}{point.command}"
        row = Table.grid(padding=(0, GAP, 0, 0))
        row.add_column(no_wrap=True, min_width=indent - GAP)
        row.add_column()
        row.add_row(Text(topic, style=STYLES.get(point.topic, "bold")), Text(body))
        yield row
        if point.command and not beside:
            yield Text(f"{' ' * indent}{point.command}", no_wrap=True, overflow="ignore")


def _details(view: RunView, analysis: Analysis, width: int) -> Iterator[RenderableType]:
    first, *lines = heading(view, analysis)
    yield Text(first, style="bold")
    yield from (Text(line, style="dim") for line in [*lines, f"$ {command_line(view)}"])
    if view.races and analysis.levels and analysis.main.standings:
        columns = ranking_columns(view, analysis, analysis.main, view.levels)
        if not runs_alone(view):
            columns = [columns[0], _braces(analysis.main), *columns[1:]]
        tables, left_out = pages(columns, width)
        for page in tables:
            yield Text()
            yield _TextTable(page, analysis.main)
        texts = [*notes(view, analysis), *_not_shown(left_out)]
        yield Text("; ".join(texts), style="dim")
        yield from _scaling(view, analysis.main)
    if texts := [*explanation_details(view)]:
        yield Text(f"\n{TITLE}", style="bold")
        yield from (Text(text) for text in texts)
    yield from _footprint(view, width)
    if statements := conclusions(view, analysis):
        yield Text("\nConclusion", style="bold")
        yield _topics([(statement.topic, one_line(statement.text)) for statement in statements])
    all_cautions = cautions(view)
    yield Text("\nCautions", style="bold yellow" if all_cautions else "bold")
    if all_cautions:
        for caution in all_cautions:
            yield Text(f"! {one_line(caution.text)}")
            if caution.advice:
                advice = Text(one_line(caution.advice), style="cyan")
                yield Padding(advice, (0, 0, 0, ADVICE_INDENT))
    else:
        yield Text(one_line(none_found(view)))


def _footprint(view: RunView, width: int) -> Iterator[RenderableType]:
    if columns := footprint_columns(view):
        if not is_asked(view):
            yield Text("\nFootprint", style="bold")
        for page in pages(columns, width)[0]:
            yield _TextTable(page)
        yield Text(f"{FOOTPRINT_NOTE}\n", style="dim")


def _scaling(view: RunView, level: LevelAnalysis) -> Iterator[RenderableType]:
    scaling_curves = curves(view, level)
    if columns := scaling_columns(view, level, scaling_curves):
        yield Text(f"\n{scaling_title(level)}", style="bold")
        yield _TextTable(columns)
        yield from (Text(one_line(line)) for line in scaling_sentences(scaling_curves))


def pages(columns: Sequence[Column], width: int) -> tuple[list[list[Column]], list[Column]]:
    """The columns as one table, or as several if it is too wide; and the columns left out.

    Each group of columns goes into the last table with room for it. Every table starts with the
    server.
    """
    server = next(column for column in columns if column.header == "server")
    tables: list[list[Column]] = []
    left_out: list[Column] = []
    for group in dict.fromkeys(column.group for column in columns):
        members = [column for column in columns if column.group == group]
        fit = [page for page in tables if _width([*page, *members]) <= width]
        if fit:
            fit[-1].extend(members)
        elif not tables:
            tables.append(members)
        elif group not in SPARE:
            tables.append([server, *members])
        else:
            left_out += members
    return [sorted(page, key=columns.index) for page in tables], left_out


def _not_shown(columns: Sequence[Column]) -> list[str]:
    names = numbers.listing([" ".join(column.header.split()[:1]) for column in columns])
    return [f"{names}: shown in a wider terminal or with --format md"] if columns else []


def _width(columns: Sequence[Column]) -> int:
    texts = map(_lines, columns)
    return sum(max(map(cell_len, column)) for column in texts) + GAP * (len(columns) - 1)


def _lines(column: Column) -> list[str]:
    return [*column.header.split("\n"), *column.cells]


def _braces(level: LevelAnalysis) -> Column:
    """A brace along the rows of each dead heat."""
    groups = [
        standing.row.group if standing.row and standing.ranked else None
        for standing in level.standings
    ]
    cells = []
    for place, group in enumerate(groups):
        above = place > 0 and groups[place - 1] == group
        below = place + 1 < len(groups) and groups[place + 1] == group
        cells.append(
            " "
            if group is None
            else {(False, False): " ", (False, True): "╭", (True, True): "│", (True, False): "╰"}[
                above, below
            ]
        )
    return Column("", tuple(cells), right=False)


@dataclass(frozen=True, slots=True)
class _TextTable:
    """A table whose cells are one line each; a row is one text where it fits, which is quick."""

    columns: Sequence[Column]
    level: LevelAnalysis | None = None

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if _width(self.columns) > options.max_width:
            yield self._cropped()
            return
        widths = [max(map(cell_len, _lines(column))) for column in self.columns]
        heads = [column.header.split("\n") for column in self.columns]
        tallest = max(map(len, heads))
        for line in zip(*([""] * (tallest - len(head)) + head for head in heads), strict=True):
            yield self._row(line, widths)
        yield Text("─" * (sum(widths) + GAP * (len(widths) - 1)), no_wrap=True)
        for cells, style, last in self._styled():
            yield self._row(cells, widths, style)
            if last:
                yield Text(" " * (sum(widths) + GAP * (len(widths) - 1)), no_wrap=True)

    def _row(self, cells: Sequence[str], widths: Sequence[int], style: str = "") -> Text:
        padded = []
        for column, cell, width in zip(self.columns, cells, widths, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(space + cell if column.right else cell + space)
        return Text((" " * GAP).join(padded), style=style, no_wrap=True)

    def _styled(self) -> Iterator[tuple[list[str], str, bool]]:
        """The cells of each row, its style, and whether it is the last that has a rank."""
        ranked, rows = len(self.level.ranked) if self.level else 0, len(self.columns[0].cells)
        for place in range(rows):
            style = "bold" if place == 0 < ranked else "dim" if 0 < ranked <= place else ""
            cells = [column.cells[place] for column in self.columns]
            yield cells, style, place + 1 == ranked < rows

    def _cropped(self) -> Table:
        table = Table(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            header_style="",
        )
        for column in self.columns:
            table.add_column(
                Text(column.header),
                justify="right" if column.right else "left",
                vertical="bottom",
                overflow="ellipsis",
                no_wrap=True,
            )
        for cells, style, last in self._styled():
            table.add_row(*map(Text, cells), style=style)
            if last:
                table.add_section()
        return table


def _topics(rows: Sequence[tuple[str, str]]) -> Table:
    """Topics with their texts, as a hanging indent."""
    table = Table.grid(padding=(0, GAP, 0, 0))
    table.add_column(width=TOPIC_WIDTH, style="bold", no_wrap=True)
    table.add_column()
    for topic, text in rows:
        table.add_row(Text(topic), Text(text))
    return table
