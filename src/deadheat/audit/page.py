"""The content of an audit for any format: a title, facts, and sections of text and tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.report.model.column import Column


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
    document: Mapping[str, Any]
