"""The report as Markdown with GitHub's tables, to paste or to keep with the code."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from deadheat import numbers
from deadheat.foreign_text import escaped, one_line
from deadheat.report.findings.analysis import Analysis, analyze
from deadheat.report.findings.cautions import Caution, cautions, none_found
from deadheat.report.findings.common_rate import objective
from deadheat.report.findings.conclusion import answer, conclusions, difference
from deadheat.report.findings.heading import command_line, heading, measured, method
from deadheat.report.findings.points import Point, points
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
from deadheat.report.formats.shapes import shape
from deadheat.report.formats.tables import (
    PROFILE,
    Column,
    behavior_columns,
    capacity_columns,
    column,
    notes,
    offered_columns,
    profile_columns,
    ranking_columns,
    remarks,
    scaling_columns,
    short_columns,
)
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.ranks import Ranking
from deadheat.store.listing import short_id

SPECIAL = re.compile(r"([\\`*_\[\]|~#])")
OF_LEVEL = ("order", "spread", "latency", "trials")  # columns about one level


def write(view: RunView, source: str | None = None) -> str:
    """The whole report. Foreign text is escaped, never markup."""
    source = source or short_id(view.run_id)
    overview = profile(view)
    if overview is None:
        return "\n".join(_lines(view, analyze(view), source)) + "\n"
    parts = ["\n".join(_profile(view, overview))]
    for each in view.by_workload:
        title, *lines = _lines(each, analyze(each), source, explains=False)
        parts.append("\n".join([f"# {_text(each.workload)}: {title.removeprefix('# ')}", *lines]))
    return "\n\n".join(parts) + "\n"


def _profile(view: RunView, overview: Profile) -> Iterator[str]:
    """The servers over all workloads, before what each of these shows."""
    yield from (f"# {_text(PROFILE)}", "", escape(measured(view, analyze(view))), "")
    yield from table(profile_columns(overview))
    for title, columns in transport_tables(overview.transports):
        yield from _titled(title, columns)
    by = _text(overview.predictions[0].by)
    title = f"How well {by} predicts the others" if len(overview.rows) > 1 else f"Beside {by}"
    yield from _listed(title, [*map(_text, predictions(overview))])
    if explained := [*explanation_points(view)]:
        yield from _titled(TITLE, explanation_columns(view))
        yield from ("", *map(_point, explained))
    yield from ("", f"- {code(command_line(view))}")


def escape(text: str) -> str:
    """Text with all signs escaped that a terminal, Markdown or HTML interpret."""
    text = escaped(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """A code span, in a fence longer than any run of backticks in it."""
    text = escaped(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _lines(view: RunView, analysis: Analysis, source: str, explains: bool = True) -> Iterator[str]:
    """`explains`: show what was counted of a request, which is not shown yet."""
    yield from _answer(view, analysis, source, explains)
    if explains:
        yield from _titled(TITLE, explanation_columns(view))
    yield from _listed("Calls, threads and functions", [*map(_text, explanation_details(view))])
    yield from _listed("Details", [escape(line) for line in heading(view, analysis)])
    yield f"- {code(command_line(view))}"
    yield from _rankings(view, analysis)
    yield from _shaped(view, analysis)
    yield from _scaling(view, analysis)
    yield from _titled(
        _text(f"The highest rate that held {objective(view)}"), capacity_columns(view)
    )
    for title, columns in rate_tables(view):
        yield from _titled(_text(title), columns)
    yield from _titled("Response time from the moment each request was due", offered_columns(view))
    for title, columns, note in (
        (HANDSHAKES, handshake_columns(view), HANDSHAKES_NOTE),
        ("Footprint", footprint_columns(view), FOOTPRINT_NOTE),
    ):
        if columns:
            yield from _titled(title, columns)
            yield from ("", _text(f"{note}."))
    statements = conclusions(view, analysis)
    yield from _listed("Conclusion", [f"**{s.topic}**: {_text(s.text)}" for s in statements])
    if analysis.levels and analysis.main.ranking:
        yield from _titled("Neighbors", _neighbors(analysis.main.ranking))
    all_cautions = [_caution(caution) for caution in cautions(view)]
    yield from _listed("Cautions", all_cautions or [_text(none_found(view))])
    yield from _titled("Behavior", behavior_columns(view))
    if view.trials:
        yield from _listed("How it was measured", [escape(line) for line in method(view, analysis)])


def _answer(view: RunView, analysis: Analysis, source: str, explains: bool) -> Iterator[str]:
    """The answer, what was measured, one table, and the points."""
    first = answer(view, analysis.main) if analysis.levels else "Nothing was measured"
    yield from (f"# {escape(first)}", "", escape(measured(view, analysis)))
    if view.races and analysis.levels and analysis.main.standings:
        yield ""
        yield from table(short_columns(view, analysis))
        if texts := "; ".join(remarks(view, analysis)):
            yield from ("", escape(f"{texts[:1].upper()}{texts[1:]}."))
    yield ""
    if explains:
        yield from map(_point, explanation_points(view))
    yield from map(_point, points(view, analysis, source))


def _point(point: Point) -> str:
    texts = [f"**{point.topic}**", *map(_text, filter(None, (point.text, point.figures)))]
    return f"- {'  '.join([*texts, *([code(point.command)] if point.command else [])])}"


def _rankings(view: RunView, analysis: Analysis) -> Iterator[str]:
    """The main level's table in full, then each other level in its own order."""
    if not view.races or not analysis.levels or not view.contenders:
        return
    yield ""
    yield from table(ranking_columns(view, analysis, analysis.main, view.levels))
    if text := "; ".join(notes(view, analysis)):
        yield from ("", escape(f"{text[:1].upper()}{text[1:]}."))
    for level in reversed([level for level in analysis.levels if level is not analysis.main]):
        columns = ranking_columns(view, analysis, level, [level.connections])
        level_columns = [column for column in columns if column.group in OF_LEVEL]
        yield from _titled(f"At {numbers.count(level.connections, 'connection')}", level_columns)


def _shaped(view: RunView, analysis: Analysis) -> Iterator[str]:
    layout = shape(view, analysis)
    if layout is None:
        return
    yield from ("", f"## {_text(layout.title)}")
    for head, columns in layout.tables.items():
        yield from ("", f"### {_text(head)}", "") if head else ("",)
        yield from table(columns)


def _scaling(view: RunView, analysis: Analysis) -> Iterator[str]:
    for level in analysis.levels[::-1]:
        scaling_curves = curves(view, level)
        yield from _titled(scaling_title(level), scaling_columns(view, level, scaling_curves))
        if lines := scaling_sentences(scaling_curves):
            yield ""
            yield from (f"- {_text(line)}" for line in lines)


def _neighbors(ranking: Ranking) -> list[Column]:
    """Every neighboring pair with its interval; no columns without a pair."""
    pairs = ranking.neighbors
    if not pairs:
        return []
    return [
        column(pairs, "faster", lambda pair: pair.faster, False),
        column(pairs, "slower", lambda pair: pair.slower, False),
        column(pairs, "apart", lambda pair: difference(pair.ratio)),
        column(pairs, "P(faster)", lambda pair: f"{pair.probability_faster:.3f}"),
        column(pairs, "verdict", lambda pair: pair.verdict.value, False),
    ]


def _caution(caution: Caution) -> str:
    advice = f" *{_text(caution.advice)}*" if caution.advice else ""
    return f"{_text(caution.text)}.{advice}"


def _text(text: str) -> str:
    return escape(one_line(text))


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"## {title}", "")
        yield from (f"- {item}" for item in items)


def _titled(title: str, columns: Sequence[Column]) -> Iterator[str]:
    if columns:
        yield from ("", f"## {title}", "")
        yield from table(columns)


def table(columns: Sequence[Column], written: Callable[[str], str] = _text) -> Iterator[str]:
    """`written` makes Markdown of a cell."""
    yield _row(written(column.header.replace("\n", " ")) for column in columns)
    yield "|" + "|".join("---:" if column.right else ":---" for column in columns) + "|"
    for cells in zip(*(each.cells for each in columns), strict=True):
        yield _row(map(written, cells))


def plain_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table whose cells are Markdown already. The first row is the header."""
    header, *others = rows
    return map(_row, (header, ["---"] * len(header), *others))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
