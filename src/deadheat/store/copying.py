"""Copying one run from store to store: every row of it, under new numbers."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

OF_TRIALS = "trial_id IN (SELECT id FROM trial WHERE run_id = :run)"

# Each table after those that its rows refer to, and which of its rows belong to a run. What a
# machine was calibrated to is quoted in the reports of all its runs.
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
FOUND_BY = {"build": ("server", "key"), "calibration": ("at", "host_key", "result")}


def copy_run(
    source: sqlite3.Connection, target: sqlite3.Connection, run_id: str, mark: Mapping[str, Any]
) -> None:
    """Insert the run into `target`, with `mark` among what its conclusion says.

    What several runs share is not kept twice. Commits nothing. Raises `sqlite3.Error`.
    """
    numbers: dict[str, dict[int, int]] = {table: {} for table in REFERS_TO.values()}
    for table, belongs in BELONGS.items():
        rows = source.execute(
            f"SELECT * FROM {table} WHERE {belongs} ORDER BY rowid", {"run": run_id}
        )
        for row in rows:
            values = _referring(dict(row), numbers)
            if table == "run" and mark:
                told = json.loads(values["conclusion"] or "{}")
                values["conclusion"] = json.dumps(told | mark)
            number = values.pop("id") if isinstance(values.get("id"), int) else None
            copied = _found(target, table, values) or _insert(target, table, values)
            if number is not None and table in numbers:
                numbers[table][number] = copied


def _referring(values: dict[str, Any], numbers: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    """The row with the numbers that what it refers to has got."""
    changed = {
        column: numbers[table][values[column]]
        for column, table in REFERS_TO.items()
        if values.get(column) is not None
    }
    return values | changed


def _found(target: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int | None:
    """The number of such a row that is there already, of what several runs may share."""
    if table not in FOUND_BY:
        return None
    columns = FOUND_BY[table]
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
