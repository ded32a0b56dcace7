"""What an audit prints, whatever the format: a title, facts, and sections of text and tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.report.model.column import Column


@dataclass(frozen=True, slots=True)
class Section:
    """A title, sentences, one table at most, and then further sentences."""

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """`command` is the run's own; `document` is the whole for machines."""

    title: str
    heading: tuple[str, ...]
    command: tuple[str, ...]
    sections: tuple[Section, ...]
    document: Mapping[str, Any]
