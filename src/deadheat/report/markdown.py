"""The report as Markdown, with GitHub's tables: to paste, or to keep beside the code."""

import re
from collections.abc import Iterator, Sequence

from deadheat.report import words
from deadheat.report.analysis import Analysis
from deadheat.report.conclusion import conclusions, difference
from deadheat.report.doubts import doubts
from deadheat.report.heading import command_line, heading
from deadheat.report.tables import Column, notes, offered_columns, ranking_columns
from deadheat.report.view import RunView
from deadheat.stats.ranking import Ranking

SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def write(view: RunView, analysis: Analysis) -> str:
    """The whole report; foreign text in it is text, never markup."""
    return "\n".join(_lines(view, analysis)) + "\n"


def escape(text: str) -> str:
    """Text that Markdown and HTML leave alone, on one line."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """A code span, in a fence longer than any run of backticks in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _lines(view: RunView, analysis: Analysis) -> Iterator[str]:
    title, *lines = heading(view, analysis)
    yield f"# {escape(title)}"
    yield ""
    yield from (f"{escape(line)}  " for line in lines)
    yield code(command_line(view))
    for level in reversed(analysis.levels):
        main = level is analysis.main
        if not level.standings:
            continue
        if not main:
            yield from ("", f"## At {words.count(level.connections, 'connection')}")
        yield ""
        yield from _table(
            ranking_columns(view, analysis, level, view.levels if main else [level.connections])
        )
        if main:
            yield from ("", escape(_sentence(notes(view, analysis))))
    if offered := offered_columns(view):
        yield from ("", "## Response time from the intended send time, at offered rates", "")
        yield from _table(offered)
    yield from _section(
        "Conclusion",
        [
            f"**{one.topic}**: {escape(words.plain(one.text))}"
            for one in conclusions(view, analysis)
        ],
    )
    if analysis.levels and (ranking := analysis.main.ranking):
        yield from _neighbours(ranking)
    yield from _section(
        "Doubts",
        [
            escape(words.plain(doubt.text))
            + (f" — *{escape(words.plain(doubt.advice))}*" if doubt.advice else "")
            for doubt in doubts(view)
        ],
    )


def _neighbours(ranking: Ranking) -> Iterator[str]:
    """Every neighbouring pair with its interval."""
    if not ranking.neighbours:
        return
    yield from ("", "## Neighbours", "")
    pairs = ranking.neighbours
    yield from _table(
        [
            Column("faster", tuple(pair.faster for pair in pairs), right=False),
            Column("slower", tuple(pair.slower for pair in pairs), right=False),
            Column("by", tuple(difference(pair.ratio) for pair in pairs)),
            Column("P(faster)", tuple(f"{pair.probability_faster:.3f}" for pair in pairs)),
            Column("verdict", tuple(pair.verdict.value for pair in pairs), right=False),
        ]
    )


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _section(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"## {title}", "")
        yield from (f"- {item}" for item in items)


def _table(columns: Sequence[Column]) -> Iterator[str]:
    yield _row([column.header.replace("\n", " ") for column in columns])
    yield "|" + "|".join("---:" if column.right else ":---" for column in columns) + "|"
    yield from (_row(cells) for cells in zip(*(c.cells for c in columns), strict=True))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape(words.plain(cell)) for cell in cells) + " |"
