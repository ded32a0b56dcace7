"""An audit in any format: a title, facts, and sections of text and tables."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len

from deadheat.foreign_text import printable
from deadheat.report.formats.markdown import code, escape, table
from deadheat.report.formats.tables import Column
from deadheat.strict import JsonObject

GAP = "  "


@dataclass(frozen=True, slots=True)
class Section:
    """A title, sentences, at most one table, and notes below it.

    With `as_records`, cells hold sentences: plain text shows each row as a block, cell by cell.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    as_records: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """`command` is the command of the run; `document` has all of it for JSON."""

    title: str
    heading: tuple[str, ...]
    command: tuple[str, ...]
    sections: tuple[Section, ...]
    document: JsonObject


def write(page: Page, format_name: str, regenerate: Sequence[str] = ()) -> str:
    """A page in one of `FORMATS`, ending with a newline.

    `regenerate` are the command lines that regenerate it; Markdown shows them.
    """
    return _WRITERS[format_name](page, regenerate) + "\n"


def _markdown(page: Page, regenerate: Sequence[str]) -> str:
    lines = [f"# {escape(page.title)}", "", *(f"- {escape(line)}" for line in page.heading)]
    lines += [f"- {code(line)}" for line in (shlex.join(page.command), *regenerate)]
    for section in page.sections:
        lines += ["", f"## {escape(section.title)}"]
        lines += _listed(section.lines)
        if section.table:
            lines += ["", *table(section.table, escape)]
        lines += _listed(section.notes)
    return "\n".join(lines)


def _listed(texts: Sequence[str]) -> list[str]:
    return ["", *(f"- {escape(text)}" for text in texts)] if texts else []


def _text(page: Page, _: Sequence[str]) -> str:
    lines = [page.title, *(f"  {line}" for line in page.heading)]
    lines.append(f"  $ {shlex.join(page.command)}")
    for section in page.sections:
        lines += ["", section.title, *(f"- {text}" for text in section.lines)]
        lines += (_text_records if section.as_records else _text_table)(section)
        lines += [f"  {text}" for text in section.notes]
    return printable("\n".join(lines))


def _text_table(section: Section) -> Iterator[str]:
    if not section.table:
        return
    headers = [column.header.split("\n") for column in section.table]
    rows = [
        *zip_longest(*headers, fillvalue=""),
        *zip(*(c.cells for c in section.table), strict=True),
    ]
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        padded = [
            " " * (width - cell_len(cell)) + cell
            if column.right
            else cell + " " * (width - cell_len(cell))
            for cell, width, column in zip(row, widths, section.table, strict=True)
        ]
        yield GAP.join(padded).rstrip()


def _text_records(section: Section) -> Iterator[str]:
    """The first cell of each row, and below it the others with their headers."""
    if not section.table:
        return
    _, *headers = (column.header.replace("\n", " ") for column in section.table)
    width = max(map(cell_len, headers), default=0)
    for first, *cells in zip(*(column.cells for column in section.table), strict=True):
        yield f"- {first}"
        for header, cell in zip(headers, cells, strict=True):
            yield f"    {header}{' ' * (width - cell_len(header))}{GAP}{cell}"


def _json(page: Page, _: Sequence[str]) -> str:
    return json.dumps(page.document, indent=2)


_WRITERS: Mapping[str, Callable[[Page, Sequence[str]], str]] = {
    "text": _text,
    "md": _markdown,
    "json": _json,
}

FORMATS = tuple(_WRITERS)
