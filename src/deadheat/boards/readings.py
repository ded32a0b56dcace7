"""What an audit of boards keeps: derived figures alone, as one JSON document."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from deadheat.boards.model import Table
from deadheat.errors import DeadheatError
from deadheat.foreign_text import read_bytes
from deadheat.inflate import TEXT_BYTES_MAX, parse
from deadheat.strict import Strict

FORMAT: Literal["deadheat-boards-1"] = "deadheat-boards-1"
Figure = float | int | str | None
DIGITS = 4


class BoardFacts(Strict):
    """A board and where its figures are from; `first` and `last` are editions."""

    name: str
    source: str = ""
    files: tuple[str, ...]
    editions: int
    first: str
    last: str
    figures: int
    entries: int
    profiles: int
    cpus: int | None


class BoardFinding(Strict):
    """One check of one profile: its readings, and the rows that it found, worst first.

    `fires` says whether the reading passed the threshold. `found` is how many rows there are,
    `rows` the first of them, and `judged` of how many.
    """

    code: str
    board: str
    profile: str
    edition: str
    fires: bool
    judged: int
    found: int
    values: dict[str, Figure]
    rows: tuple[dict[str, Figure], ...]

    def number(self, key: str) -> float:
        """A reading that this finding has."""
        value = self.values[key]
        if not isinstance(value, int | float):
            raise TypeError(f"{self.code}: {key} is {value!r}")
        return float(value)

    def number_if_any(self, key: str) -> float | None:
        return None if self.values.get(key) is None else self.number(key)


class PlacedEntry(Strict):
    """One entry of a table: its rate, and the places that the noise allows."""

    entry: str
    rate_per_s: float
    first: int
    last: int


class RankPicture(Strict):
    """The first entries of a table with the places that the noise allows for each."""

    board: str
    profile: str
    edition: str
    entries: int
    placed: tuple[PlacedEntry, ...]


class RepeatPicture(Strict):
    """Measurements of unchanged source: the earlier rate, and the ratio of the later one to it."""

    board: str
    profile: str
    rates_per_s: tuple[float, ...]
    ratios: tuple[float, ...]
    days: tuple[float | None, ...]


class RatePicture(Strict):
    """How many entries have a rate within each step; `edges` has one more than `counts`."""

    board: str
    profile: str
    edition: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    crowd_low: float | None
    crowd_high: float | None


class Readings(Strict):
    """The audit of one or several boards; `made_by` are the words of its command."""

    format: Literal["deadheat-boards-1"]
    made_by: tuple[str, ...]
    boards: tuple[BoardFacts, ...]
    findings: tuple[BoardFinding, ...]
    ranks: tuple[RankPicture, ...] = ()
    repeats: tuple[RepeatPicture, ...] = ()
    rates: tuple[RatePicture, ...] = ()

    def of(self, board: str, code: str) -> tuple[BoardFinding, ...]:
        return tuple(
            finding for finding in self.findings if finding.board == board and finding.code == code
        )

    def to_json(self) -> str:
        """The document, with a line for each finding and each picture."""
        whole = self.model_dump(mode="json")
        keys = [f"{json.dumps(key)}: {_by_line(value)}" for key, value in whole.items()]
        return "{" + ",\n".join(keys) + "}"


def _by_line(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
    return json.dumps(value)


def is_readings(path: Path) -> bool:
    """Whether a file begins as `to_json` writes it."""
    try:
        if not path.is_file():  # opening a pipe would wait
            return False
        with path.open("rb") as file:
            return FORMAT.encode() in file.read(60)
    except OSError:
        return False


def read_readings(path: Path) -> Readings:
    """Readings that an audit has written. Raises `DeadheatError`."""
    try:
        parse(text := read_bytes(path, TEXT_BYTES_MAX))
        return Readings.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise DeadheatError(f"{path}: {place}: {fault['msg']}", "write it anew") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DeadheatError(f"{path}: cannot be read: {reason}", "check the path") from error


def rounded(value: float, digits: int = DIGITS) -> float:
    """To significant digits, so that the document stays short."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    return round(float(value), digits - 1 - math.floor(math.log10(abs(value))))


ROWS_MAX = 5  # of each finding; `found` counts all


def finding_of(
    code: str,
    table: Table,
    judged: int,
    values: Mapping[str, Figure],
    rows: Sequence[Mapping[str, Figure]],
    found: int | None = None,
    fires: bool | None = None,
) -> BoardFinding:
    """Without `found`, `rows` are all that it found, of which the first are kept."""
    return BoardFinding(
        code=code,
        board=table.board.name,
        profile=table.profile,
        edition=table.edition,
        fires=bool(rows) if fires is None else bool(fires),
        judged=judged,
        found=len(rows) if found is None else found,
        values=dict(values),
        rows=tuple(dict(row) for row in (rows[:ROWS_MAX] if found is None else rows)),
    )
