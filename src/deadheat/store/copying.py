"""Copies one run from store to store: all its rows, with new ids."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

OF_TRIALS = "trial_id IN (SELECT id FROM trial WHERE run_id = :run)"

# Which rows of each table belong to a run. A table stands after those that it refers to. Every
# calibration is copied, because reports of a run quote that of its machine.
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
    "calibration": "TRUE",
}
REFERS_TO = {f"{table}_id": table for table in ("build", "contender", "instance", "trial")}
SHARED_BY = {"build": ("server", "key"), "calibration": ("at", "host_key", "result")}


def copy_run(
    source: sqlite3.Connection, target: sqlite3.Connection, run_id: str, mark: Mapping[str, Any]
) -> None:
    """Insert the run into `target`, with `mark` added to its conclusion.

    A build or calibration that is there already is not copied. Commits nothing. Raises
    `sqlite3.Error`.
    """
    ids: dict[str, dict[int, int]] = {table: {} for table in REFERS_TO.values()}
    for table, belongs in BELONGS.items():
        rows = source.execute(
            f"SELECT * FROM {table} WHERE {belongs} ORDER BY rowid", {"run": run_id}
        )
        for row in rows:
            values = _with_new_ids(dict(row), ids)
            if table == "run" and mark:
                conclusion = json.loads(values["conclusion"] or "{}")
                values["conclusion"] = json.dumps(conclusion | mark)
            old_id = values.pop("id") if isinstance(values.get("id"), int) else None
            new_id = _stored_id(target, table, values) or _insert(target, table, values)
            if old_id is not None and table in ids:
                ids[table][old_id] = new_id


def _with_new_ids(values: dict[str, Any], ids: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    """The row, which refers to the copies of other rows."""
    changed = {
        column: ids[table][values[column]]
        for column, table in REFERS_TO.items()
        if values.get(column) is not None
    }
    return values | changed


def _stored_id(target: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int | None:
    """The id of the same row in `target`, for tables whose rows several runs share."""
    if table not in SHARED_BY:
        return None
    columns = SHARED_BY[table]
    row = target.execute(
        f"SELECT id FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in columns)}",
        [values[column] for column in columns],
    ).fetchone()
    return int(row[0]) if row else None


def _insert(target: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int:
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    cursor = target.execute(
        f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())
    )
    return cursor.lastrowid or 0
