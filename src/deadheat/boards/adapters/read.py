"""Files of boards, bounded and checked; several of one board are its editions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from deadheat.boards.adapters import httparena, plain_csv, techempower, the_benchmarker
from deadheat.boards.adapters.values import MEASUREMENTS_MAX, Value, name_of
from deadheat.boards.model import LiveBoard, Measurement, in_order
from deadheat.errors import DeadheatError
from deadheat.foreign_text import read_bytes
from deadheat.inflate import TEXT_BYTES_MAX, parse

FORMATS = (
    "HttpArena's site/data/PROFILE.json, the-benchmarker's data.json or data.min.json, "
    "TechEmpower's results.json, or a CSV with the columns entry and rate_per_s"
)


def read_boards(paths: Sequence[Path], cpus: int | None = None) -> tuple[LiveBoard, ...]:
    """One board for each name, in the order of the files.

    `cpus` is how many a server may use, where the files do not say. Raises `DeadheatError` with the
    file and the place in it.
    """
    boards: dict[str, LiveBoard] = {}
    for path in paths:
        board = _read(path)
        before = boards.get(board.name)
        boards[board.name] = board if before is None else _joined(before, board)
    return tuple(
        replace(
            board,
            editions=in_order(board.editions),
            cpus=cpus or board.cpus or (httparena.CPUS if board.name == httparena.BOARD else None),
        )
        for board in boards.values()
    )


def _joined(first: LiveBoard, second: LiveBoard) -> LiveBoard:
    """Two files with the same profile and edition would be one table."""
    shared = {(row.profile, row.edition) for row in first.measurements} & {
        (row.profile, row.edition) for row in second.measurements
    }
    if shared:
        profile, edition = sorted(shared)[0]
        raise DeadheatError(
            f"{second.files[0]}: {profile} of edition {edition} is in {first.files[-1]} too",
            "put the files of each edition into a folder with the name of the edition",
        )
    return LiveBoard(
        first.name,
        first.files + second.files,
        first.editions + second.editions,
        first.measurements + second.measurements,
        second.cpus or first.cpus,
    )


def _read(path: Path) -> LiveBoard:
    try:
        text = read_bytes(path, TEXT_BYTES_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "expected UTF-8"
        hint = f"expected {FORMATS}" if path.exists() else "check the path"
        raise DeadheatError(f"{path}: cannot be read: {reason}", hint) from error
    stem = name_of(path.stem)
    name, cpus, rows = stem, None, []
    if path.suffix.lower() == ".csv":
        rows = _bounded(path, plain_csv.read(str(path), text, stem))
    else:
        name, cpus, rows = _read_json(path, text)
    if not rows:
        raise DeadheatError(f"{path}: it has no figure", f"expected {FORMATS}")
    rows = _told_apart(rows)
    _require_once(path, rows)
    editions = tuple(dict.fromkeys(row.edition for row in rows))
    return LiveBoard(name, (name_of(path.name),), editions, tuple(rows), cpus)


def _read_json(path: Path, text: str) -> tuple[str, int | None, list[Measurement]]:
    try:
        content = parse(text)
    except ValueError as error:
        raise DeadheatError(f"{path}: expected JSON: {error}", f"expected {FORMATS}") from error
    # A file without a date is of the edition that its folder is named after.
    value, unnamed = Value(str(path), content), name_of(path.resolve().parent.name)
    if httparena.reads(content):
        rows = httparena.read(value, name_of(path.stem), unnamed)
        return httparena.BOARD, None, _bounded(path, rows)
    if the_benchmarker.reads(content):
        edition = the_benchmarker.edition_of(value) or unnamed
        rows = the_benchmarker.read(value, edition)
        return the_benchmarker.BOARD, the_benchmarker.cpus_of(value), _bounded(path, rows)
    if techempower.reads(content):
        edition = techempower.edition_of(value) or unnamed
        return techempower.BOARD, None, _bounded(path, techempower.read(value, edition))
    raise DeadheatError(f"{path}: unknown format", f"expected {FORMATS}")


def _bounded(path: Path, rows: Iterable[Measurement]) -> list[Measurement]:
    taken: list[Measurement] = []
    for row in rows:
        if len(taken) == MEASUREMENTS_MAX:
            raise DeadheatError(f"{path}: it has more than {MEASUREMENTS_MAX:,} figures")
        taken.append(row)
    return taken


def _told_apart(rows: Sequence[Measurement]) -> list[Measurement]:
    """A name that entries of several languages share gets the language behind it."""
    languages: dict[tuple[str, str, str], set[str | None]] = {}
    for row in rows:
        languages.setdefault((row.profile, row.edition, row.entry), set()).add(row.language)
    shared = {entry for (_, _, entry), several in languages.items() if len(several) > 1}
    return [
        replace(row, entry=f"{row.entry} ({row.language})") if row.entry in shared else row
        for row in rows
    ]


def _require_once(path: Path, rows: Sequence[Measurement]) -> None:
    """An entry has one figure in an edition of a profile."""
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        key = (row.profile, row.edition, row.entry)
        if key in seen:
            raise DeadheatError(
                f"{path}: {row.entry} has two figures of {row.profile} in edition {row.edition}"
            )
        seen.add(key)
