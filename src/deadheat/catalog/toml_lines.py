"""Strict reading of TOML: every fault has a file and a line."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from deadheat.errors import UsageFault
from deadheat.foreign_text import escaped, read_bytes

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

BYTES_MAX = 256 * 1024
NESTING_MAX = 100
KEY_PARTS_MAX = 32  # tomllib takes quadratic time for a long dotted key
FAULTS_SHOWN_MAX = 50
KEY_CHARS_MAX = 200

_HEADER = re.compile(r"^\s*(\[\[?)([^\]\n]+)\]")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")
# Strings, comments, what is between them, and single signs. An unfinished string extends to the end
# of its line or of the text, so that a scan takes linear time.
_TOKEN = re.compile(
    r'"""[^"\\]*(?:(?:\\(?:.|\Z)|"{1,2}(?!"))[^"\\]*)*(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"?'
    r"|'[^'\n]*'?|#[^\n]*|[^\"'#\[\]{}\n.,=]+|.",
    re.DOTALL,
)
_LONG_NUMBER = re.compile(r"[0-9_]{4300}|0[xob][0-9A-Fa-f_]{1000}")  # Python cannot print more
# Instead of messages of pydantic about Python or its own settings.
_EXPECTED = {
    "extra_forbidden": "unknown key",
    "missing": "missing",
    "tuple_type": "expected an array",
    "dict_type": "expected a table",
    "model_type": "expected a table",
}


class FileFault(UsageFault):
    """One or more faults in a TOML file, one on a line: `file:line: key: what was expected`."""


def read_toml(path: Path, model: type[Model]) -> Model:
    """Read `path` and check it against `model`.

    Raises `FileFault` with all faults, each with file and line.
    """
    text = read_toml_text(path)
    _require_bounds(path, text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        named_line = re.search(r"line (\d+)", str(error))
        line = int(named_line.group(1)) if named_line else len(text.splitlines())
        raise FileFault(f"{path}:{line}: {error}") from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise file_fault(path, model_faults(error, values)) from error


def read_toml_text(path: Path) -> str:
    """The text of a file. Raises `FileFault`, also if it is not a regular file of moderate size."""
    try:
        content = read_bytes(path, BYTES_MAX)
        return content.decode()
    except OSError as error:
        raise FileFault(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFault(f"{path}:{line}: expected UTF-8: {error.reason}") from error


def model_faults(error: ValidationError, values: object) -> list[tuple[Location, str]]:
    """The faults of `values` in a model: location and what was expected there."""
    expected: dict[Location, list[str]] = {}
    faults = error.errors()
    within = {fault["loc"][:depth] for fault in faults for depth in range(len(fault["loc"]))}
    for fault in faults:
        if fault["type"] == "too_short" and fault["loc"] in within:
            continue  # its items are there, with faults of their own
        message = _expected(fault["type"], fault["msg"])
        expected.setdefault(_within(values, fault["loc"]), []).append(message)
    return [(location, ", or ".join(messages)) for location, messages in expected.items()]


def faults_text(error: ValidationError, values: object) -> str:
    """The faults in one line: `stopping.margin: expected a number`, each after a semicolon."""
    return "; ".join(
        f"{_shown(location)}: {text}" if location else text
        for location, text in model_faults(error, values)[:FAULTS_SHOWN_MAX]
    )


def file_fault(
    path: Path, faults: Iterable[tuple[Location, str]], hint: str | None = None
) -> FileFault:
    """The faults of one file, ordered by line."""
    lines = key_lines(read_toml_text(path))
    by_line = sorted(
        (line_of(lines, location), _shown(location), text) for location, text in faults
    )
    texts = [f"{path}:{line}: {key + ': ' if key else ''}{text}" for line, key, text in by_line]
    if len(texts) > FAULTS_SHOWN_MAX:
        texts[FAULTS_SHOWN_MAX:] = [f"{path}: and {len(texts) - FAULTS_SHOWN_MAX:,} more faults"]
    return FileFault("\n".join(texts), hint)


def _shown(location: Location) -> str:
    key = escaped(".".join(map(str, location)))
    return f"{key[:KEY_CHARS_MAX]}…" if len(key) > KEY_CHARS_MAX else key


def key_lines(text: str) -> dict[Location, int]:
    """The line of each key and table header. Arrays of tables have their index."""
    lines: dict[Location, int] = {(): 1}
    table: Location = ()
    counts: dict[str, int] = {}
    for number, line in _statements(text):
        if header := _HEADER.match(line):
            name = header.group(2).strip()
            table = _split(name)
            if header.group(1) == "[[":
                index = counts.get(name, 0)
                counts[name] = index + 1
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


def _require_bounds(path: Path, text: str) -> None:
    """Raises `FileFault` for nesting or a number that Python cannot bear, in memory or in time."""
    line, depth, key_parts = 1, 0, 1
    for token in _TOKEN.findall(text):
        line += token.count("\n")
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        key_parts = key_parts + 1 if token == "." else 1 if token in "[{,=\n" else key_parts
        if token[0] not in "\"'#" and _LONG_NUMBER.search(token):
            raise FileFault(f"{path}:{line}: a number has too many digits")
        if depth > NESTING_MAX:
            raise FileFault(f"{path}:{line}: nested in more than {NESTING_MAX} levels")
        if key_parts > KEY_PARTS_MAX:
            raise FileFault(f"{path}:{line}: the key has more than {KEY_PARTS_MAX} parts")


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The lines of valid TOML that begin a statement, numbered from 1."""
    lines = text.split("\n")
    number, depth = 1, 0
    yield 1, lines[0]
    for token in _TOKEN.findall(text):
        number += token.count("\n")
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and depth == 0:
            yield number, lines[number - 1]


def _split(dotted: str) -> Location:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _within(values: object, location: Location) -> Location:
    """A location without what pydantic adds to it: the tag or the type of a union."""
    within: list[str | int] = []
    for part in location:
        if isinstance(values, dict):
            if part == values.get("kind") and part not in values:
                continue
            values = values.get(part, {})
        elif isinstance(values, list) and isinstance(part, int):
            values = values[part]
        else:
            break
        within.append(part)
    return tuple(within)


def _expected(kind: str, message: str) -> str:
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    message = message.removeprefix("Value error, ").replace("String should ", "expected to ")
    return message.replace("Input should be ", "expected ")
