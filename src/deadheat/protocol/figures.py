"""Figures of published comparisons, with sources and precision: `published/*.csv`."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from deadheat.catalog import layered, layered_names
from deadheat.errors import UsageFault
from deadheat.foreign_text import read_bytes

BYTES_MAX = 4 << 20
DECIMAL = ("bytes_read", "time_ms", "duration_s")  # of the optional columns; others are whole


@dataclass(frozen=True, slots=True)
class Figure:
    """One published rate: a row of a table, whose columns are these fields.

    `precision` is the value of the rate's last printed digit, in requests/s.

    `rate_per_s` is None if the row of the table has no figure. `bytes_read` is rounded, as wrk
    prints it. `repetition` counts from 1, if repetitions are published one by one.
    `requests_failed`, `exceptions`, `body_bytes` (of one) and `bodies_bytes` (of all) are as ab
    prints them.
    """

    row: str
    connections: int
    rate_per_s: float | None
    precision: float
    source: str
    repetition: int | None = None
    requests: int | None = None
    errors_connect: int | None = None
    errors_read: int | None = None
    errors_write: int | None = None
    errors_timeout: int | None = None
    requests_failed: int | None = None
    exceptions: int | None = None
    bytes_read: float | None = None
    body_bytes: int | None = None
    bodies_bytes: int | None = None
    time_ms: float | None = None
    duration_s: float | None = None

    @property
    def errors(self) -> int:
        kinds = (self.errors_connect, self.errors_read, self.errors_write, self.errors_timeout)
        return sum(count or 0 for count in kinds)


REQUIRED = [each.name for each in fields(Figure) if each.default is MISSING]
OPTIONAL = [each.name for each in fields(Figure) if each.default is not MISSING]


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """A published table: every row at every level, in the order of its file."""

    name: str
    figures: tuple[Figure, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(figure.row for figure in self.figures))

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(sorted({figure.connections for figure in self.figures}))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(figure.source for figure in self.figures))

    def at(self, connections: int) -> dict[str, Figure]:
        """The rows of one level."""
        return {figure.row: figure for figure in self.figures if figure.connections == connections}


def shipped_figures(root: Path, name: str) -> PublishedFigures:
    """`published/NAME.csv` of a catalog. Raises `DeadheatError`."""
    path = layered(root, f"published/{name}.csv")
    if not path.is_file():
        available = ", ".join(layered_names(root, "published", ".csv"))
        raise UsageFault(
            f"no published figures {path}",
            f"available: {available or 'none'}; --import FILE.csv reads your own table",
        )
    return read_figures(path)


def read_figures(path: Path) -> PublishedFigures:
    """Read a table of published figures. Raises `DeadheatError` with file, line and column."""
    try:
        text = read_bytes(path, BYTES_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "expected UTF-8"
        raise UsageFault(f"{path}: cannot be read: {reason}", "check the path") from error
    reader = csv.DictReader(text.splitlines(), restkey="", strict=True)
    try:
        _check_header(path, reader.fieldnames or ())
        figures = tuple(_figures(path, reader))
    except csv.Error as error:
        raise UsageFault(f"{path}:{reader.line_num}: {error}") from error
    if not figures:
        raise UsageFault(f"{path}:2: expected a figure, but the file ends")
    return PublishedFigures(path.stem, figures)


def _check_header(path: Path, columns: Sequence[str]) -> None:
    missing = [name for name in REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    if missing or unknown:
        faults = [f"missing column {name}" for name in missing]
        faults += [f"unknown column {name!r}" for name in unknown]
        raise UsageFault(
            f"{path}:1: {', '.join(faults)}",
            f"the columns are {', '.join(REQUIRED)}; optional: {', '.join(OPTIONAL)}",
        )


def _figures(path: Path, reader: "csv.DictReader[str]") -> Iterator[Figure]:
    lines: dict[tuple[str, int, int | None], int] = {}
    for values in reader:
        place = f"{path}:{reader.line_num}"
        if "" in values or None in values.values():
            raise UsageFault(f"{place}: expected {len(reader.fieldnames or ())} columns")
        figure = _figure(place, values)
        key = (figure.row, figure.connections, figure.repetition)
        if key in lines:
            raise UsageFault(
                f"{place}: {figure.row!r} at {figure.connections} is in line {lines[key]} too"
            )
        lines[key] = reader.line_num
        yield figure


def _figure(place: str, values: Mapping[str, str]) -> Figure:
    def number(name: str, least: float) -> float | None:
        text = values.get(name, "").strip()
        if text in ("", "nan"):
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= least):
            raise UsageFault(f"{place}: {name}: expected a number >= {least:g}, got {text!r}")
        return value

    def whole(name: str, least: int) -> int | None:
        value = number(name, least)
        if value is not None and value != int(value):
            raise UsageFault(f"{place}: {name}: expected a whole number, got {value:g}")
        return None if value is None else int(value)

    connections, precision = whole("connections", 1), number("precision", 1e-9)
    for name, value in (("connections", connections), ("precision", precision)):
        if value is None:
            raise UsageFault(f"{place}: {name}: expected a number")
    for name in ("row", "source"):
        if not values[name].strip():
            raise UsageFault(f"{place}: {name}: expected a text")
    rate_per_s = number("rate_per_s", 0)
    optional: dict[str, Any] = {
        name: whole(name, 1 if name == "repetition" else 0)
        for name in OPTIONAL
        if name not in DECIMAL
    }
    optional |= {name: number(name, 0) for name in DECIMAL}
    return Figure(
        row=values["row"].strip(),
        connections=connections or 0,
        rate_per_s=rate_per_s,
        precision=precision or 0.0,
        source=values["source"].strip(),
        **optional,
    )
