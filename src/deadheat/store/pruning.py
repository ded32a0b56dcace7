"""Deletes runs with everything that only they refer to."""

import datetime
from collections.abc import Sequence

from deadheat.store.copying import BELONGS
from deadheat.store.listing import RunSummary, run_summaries
from deadheat.store.store import Store

SHARED = ("build", "calibration")  # other runs may refer to them
ENDED = ("complete", "interrupted", "failed", "lost")
UNUSED_BUILDS = """
    DELETE FROM build
    WHERE id NOT IN (SELECT build_id FROM contender WHERE build_id IS NOT NULL)
"""
SIZE = """
    SELECT (SELECT coalesce(sum(length(rows)), 0) FROM series WHERE trial_id = trial.id)
         + (SELECT coalesce(sum(length(hdr_v2_base64)), 0) FROM histogram
            WHERE trial_id = trial.id)
         + length(stdout) + length(stderr) + length(result) + length(command) AS size_bytes
    FROM trial WHERE run_id = ?
"""


def ended_before(store: Store, moment: datetime.datetime) -> list[RunSummary]:
    """The runs that began before `moment` and are over, the newest first."""
    return [run for run in run_summaries(store) if run.started_at < moment and run.state in ENDED]


def size_bytes(store: Store, run_id: str) -> int:
    """About what the trials of a run take in the store."""
    return sum(int(row["size_bytes"] or 0) for row in store.rows(SIZE, run_id))


def delete_runs(store: Store, run_ids: Sequence[str]) -> None:
    """Delete the runs, and give their space back to the file system.

    Calibrations stay. Raises `StoreError` if the store cannot be written; then no run is deleted.
    """
    with store._commit() as connection:
        for run_id in run_ids:
            for table in reversed(BELONGS):
                if table not in SHARED:
                    delete = f"DELETE FROM {table} WHERE {BELONGS[table]}"
                    connection.execute(delete, {"run": run_id})
        connection.execute(UNUSED_BUILDS)
    with store._commit() as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
