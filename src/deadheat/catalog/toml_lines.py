"""Strict reading of TOML: every fault has a file and a line."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from deadheat.errors import DeadheatError

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")
# Instead of messages of pydantic about Python or its own settings.
_EXPECTED = {
    "extra_forbidden": "unknown key",
    "missing": "missing",
    "tuple_type": "expected an array",
    "dict_type": "expected a table",
    "model_type": "expected a table",
}


class FileFault(DeadheatError):
    """One or more faults in a TOML file, one on a line: `file:line: key: what was expected`."""


def read_toml(path: Path, model: type[Model]) -> Model:
    """Read `path` and check it against `model`.

    Raises `FileFault` with all faults, each with file and line.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFault(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes().count(b"\n", 0, error.start) + 1
        raise FileFault(f"{path}:{line}: expected UTF-8: {error.reason}") from error
    except tomllib.TOMLDecodeError as error:
        named_line = re.search(r"line (\d+)", str(error))
        last_line = len(path.read_text(encoding="utf-8").splitlines())
        line = int(named_line.group(1)) if named_line else last_line
        raise FileFault(f"{path}:{line}: {error}") from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise file_fault(path, model_faults(error, values)) from error


def model_faults(error: ValidationError, values: object) -> list[tuple[Location, str]]:
    """The faults of `values` in a model: location and what was expected there."""
    expected: dict[Location, list[str]] = {}
    for fault in error.errors():
        message = _expected(fault["type"], fault["msg"])
        expected.setdefault(_within(values, fault["loc"]), []).append(message)
    return [(location, ", or ".join(messages)) for location, messages in expected.items()]


def file_fault(
    path: Path, faults: Iterable[tuple[Location, str]], hint: str | None = None
) -> FileFault:
    """The faults of one file, ordered by line."""
    lines = key_lines(path.read_text(encoding="utf-8"))
    by_line = sorted(
        (line_of(lines, location), ".".join(map(str, location)), text) for location, text in faults
    )
    return FileFault(
        "\n".join(
            f"{path}:{line}: {key + ': ' if key else ''}{text}" for line, key, text in by_line
        ),
        hint,
    )


def key_lines(text: str) -> dict[Location, int]:
    """The line of each key and table header. Arrays of tables have their index."""
    lines: dict[Location, int] = {(): 1}
    table: Location = ()
    counts: dict[str, int] = {}
    for number, line in _statements(text):
        if header := _HEADER.match(line):
            table = _split(header.group(2))
            if header.group(1) == "[[":
                index = counts.get(header.group(2), 0)
                counts[header.group(2)] = index + 1
                table = (*table, index)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_split(key.group(1))), number)
    return lines


def line_of(lines: dict[Location, int], location: Location) -> int:
    """The line of a key, or of the nearest table around it."""
    for length in range(len(location), -1, -1):
        if (line := lines.get(location[:length])) is not None:
            return line
    return 1


def _statements(text: str) -> list[tuple[int, str]]:
    """The lines that begin a statement, numbered from 1."""
    lines = text.splitlines()
    return [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if _is_complete("\n".join(lines[: number - 1]))
    ]


def _is_complete(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _split(dotted: str) -> Location:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _within(values: object, location: Location) -> Location:
    """A location without what pydantic appends to it: the type of a union that it tried."""
    for depth, part in enumerate(location):
        if isinstance(values, dict):
            values = values.get(part, {})
        elif isinstance(values, list) and isinstance(part, int):
            values = values[part]
        else:
            return location[:depth]
    return location


def _expected(kind: str, message: str) -> str:
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    message = message.removeprefix("Value error, ").replace("String should ", "expected to ")
    return message.replace("Input should be ", "expected ")
