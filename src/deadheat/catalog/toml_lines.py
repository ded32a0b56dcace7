"""TOML read strictly: every fault is told with its file and line."""

import re
import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from deadheat.errors import DeadheatError

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")


class FileFault(DeadheatError):
    """One or more faults in a TOML file, each a line `file:line: key: what was expected`."""


def read_toml(path: Path, model: type[Model]) -> Model:
    """Read `path` and check it against `model`.

    Raises `FileFault` naming every fault at once, with file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise FileFault(f"{path}: cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise FileFault(f"{path}:{found.group(1) if found else 1}: {error}") from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        lines = key_lines(text)
        faults = [
            (line_of(lines, fault["loc"]), ".".join(map(str, fault["loc"])), fault["msg"])
            for fault in error.errors()
        ]
        told = [
            f"{path}:{line}: {key + ': ' if key else ''}{text}"
            for line, key, text in sorted(faults)
        ]
        raise FileFault("\n".join(told)) from error


def key_lines(text: str) -> dict[Location, int]:
    """The line each key and each table header stands on; array tables carry their index."""
    lines: dict[Location, int] = {(): 1}
    table: Location = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
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
    """The line of a key, or of the nearest thing around it that has one."""
    for length in range(len(location), -1, -1):
        if (line := lines.get(location[:length])) is not None:
            return line
    return 1


def _split(dotted: str) -> Location:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
