"""Copies one run from store to store: all its rows, with new ids."""

import functools
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from deadheat.foreign_text import masked
from deadheat.inflate import parse
from deadheat.store.json_columns import (
    Conclusion,
    ImportedFrom,
    decoded,
    masked_command,
    masked_manifest,
    masked_protocol,
    parsed,
    secrets_of,
    words_of,
)
from deadheat.store.rows import Columns

OF_TRIALS = "trial_id IN (SELECT id FROM trial WHERE run_id = :run)"

# Which rows of each table belong to a run. A table stands after those that it refers to. Reports
# quote the newest calibration of a kind of machine, so no earlier one is copied. `imported_with`
# is the run itself if it was imported into the source, else null.
BELONGS = {
    "run": "id = :run",
    "host": "run_id = :run",
    "build": "id IN (SELECT build_id FROM contender WHERE run_id = :run)",
    "contender": "run_id = :run",
    "instance": "contender_id IN (SELECT id FROM contender WHERE run_id = :run)",
    "trial": "run_id = :run",
    "histogram": OF_TRIALS,
    "series": OF_TRIALS,
    "error": OF_TRIALS,
    "gate": OF_TRIALS,
    "calibration": "id IN (SELECT max(id) FROM calibration WHERE imported_with IS :imported_with"
    " GROUP BY host_key)",
}
REFERS_TO = {f"{table}_id": table for table in ("build", "contender", "instance", "trial")}
SHARED = ("build", "calibration")  # several runs refer to them; `imported_with` says whose


def copy_run(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    run_id: str,
    imported: ImportedFrom | None,
) -> None:
    """Insert the run into `target`, with `imported` in its conclusion, and without passwords.

    The builds and calibrations of an imported run are stored as its own.
    Each table is read in its order and written by one statement. Commits nothing. Raises
    `sqlite3.Error`, also if a row of the run refers to one of another run, and `StoreError`.
    """
    target.execute("BEGIN IMMEDIATE")  # the ids below are free until it ends
    owner = {"imported_with": run_id} if imported else {}
    parameters = {"run": run_id, "imported_with": _owner_in(source, run_id)}
    secrets = frozenset[str]()
    for row in source.execute("SELECT command, protocol FROM run WHERE id = ?", (run_id,)):
        secrets = secrets_of(
            decoded(words_of, row["command"], run_id, "command"),
            decoded(parse, row["protocol"], run_id, "protocol"),
        )
    ids: dict[str, dict[int, int]] = {table: {} for table in REFERS_TO.values()}
    for table, belongs in BELONGS.items():
        rows = source.execute(f"SELECT * FROM {table} WHERE {belongs} ORDER BY rowid", parameters)
        values: Iterator[Columns] = map(dict, rows)
        if secrets:
            values = map(functools.partial(masked_row, secrets, run_id, table), values)
        changed = _changed(table, values, ids, imported, owner if table in SHARED else {})
        _insert(target, table, _numbered(target, table, changed, ids.get(table, {})))


def masked_row(secrets: frozenset[str], run_id: str, table: str, row: Columns) -> Columns:
    """A row with `***` for each password, wherever a server or deadheat repeated it.

    Only the store keeps passwords, to start a server again. Raises `StoreError`.
    """
    changes: dict[str, Callable[[str], Any]] = {
        "command": lambda text: [*masked_command(words_of(text), secrets)],
        "manifest": lambda text: masked_manifest(parse(text)),
        "protocol": lambda text: masked_protocol(parse(text), secrets),
    }
    for column in changes.keys() & row.keys():
        what = f"{'the ' if column == 'manifest' else ''}{column} of {table} {row['id']}"
        changed = decoded(changes[column], row[column], run_id, what)
        row[column] = json.dumps(changed, ensure_ascii=False)
    for column in {"fault", "log_tail", "reason"} & row.keys():
        row[column] = masked(row[column], secrets) if row[column] else row[column]
    return row


def _owner_in(source: sqlite3.Connection, run_id: str) -> str | None:
    query = "SELECT 1 FROM run WHERE id = ? AND json_extract(conclusion, '$.imported') IS NOT NULL"
    return run_id if source.execute(query, (run_id,)).fetchone() else None


def _changed(
    table: str,
    rows: Iterator[Columns],
    ids: Mapping[str, Mapping[int, int]],
    imported: ImportedFrom | None,
    owner: Mapping[str, Any],
) -> Iterator[Columns]:
    """The rows, which refer to the copies of other rows, and carry the import and the owner."""
    for row in rows:
        for column, referred in REFERS_TO.items():
            if row.get(column) is not None:
                if row[column] not in ids[referred]:
                    raise sqlite3.IntegrityError(f"{table}.{column} refers to another run")
                row[column] = ids[referred][row[column]]
        if table == "run":
            conclusion = parsed(
                Conclusion.model_validate, row["conclusion"], row["id"], "conclusion"
            )
            imported = imported or conclusion.imported
            row["conclusion"] = conclusion.changed(imported=imported, folder=None).to_text()
        yield {**row, **owner}


def _numbered(
    target: sqlite3.Connection, table: str, rows: Iterator[Columns], ids: dict[int, int]
) -> Iterator[Columns]:
    """The rows with ids that are free in `target`; notes the new ones by the old ones in `ids`.

    A build that is there already, with the same owner, keeps its id and is not given back.
    """
    next_id: int | None = None
    for row in rows:
        if not isinstance(row.get("id"), int):
            yield row
            continue
        old_id = row["id"]
        if table == "build" and (stored_id := _stored_build(target, row)) is not None:
            ids[old_id] = stored_id
            continue
        if next_id is None:
            (next_id,) = target.execute(f"SELECT ifnull(max(id), 0) + 1 FROM {table}").fetchone()
        ids[old_id] = next_id
        yield row | {"id": next_id}
        next_id += 1


def _stored_build(target: sqlite3.Connection, build: Mapping[str, Any]) -> int | None:
    row = target.execute(
        "SELECT id FROM build WHERE server = :server AND key = :key"
        " AND imported_with IS :imported_with",
        build,
    ).fetchone()
    return int(row[0]) if row else None


def insertion(table: str, columns: Collection[str]) -> str:
    """The statement that inserts a row with these columns."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _insert(target: sqlite3.Connection, table: str, rows: Iterator[Columns]) -> None:
    first = next(rows, None)
    if first is None:
        return
    statement = insertion(table, first)
    target.execute(statement, tuple(first.values()))
    target.executemany(statement, (tuple(row.values()) for row in rows))
