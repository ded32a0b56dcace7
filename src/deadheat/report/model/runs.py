"""The stored runs: a line each, and finding one by what the user typed."""

import datetime
import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat.report import format
from deadheat.store import Store, StoreError, Writer

NEAREST = 3
LISTED = {"lost": "process gone", "unended": "no end"}

RUNS = """
    SELECT id, started_at, ended_at, state, writer, protocol,
           (SELECT count(*) FROM contender
            WHERE run_id = run.id AND role = 'contender') AS contenders,
           (SELECT count(*) FROM trial WHERE run_id = run.id) AS trials
    FROM run ORDER BY started_at DESC, rowid DESC
"""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What tells one run from another in a list."""

    run_id: str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    state: str
    protocol: str
    contenders: int
    trials: int


def list_runs(store: Store) -> list[StoredRun]:
    """Every stored run, the newest first. Raises `StoreError` where there is none."""
    rows = store.rows(RUNS)
    if not rows:
        raise StoreError(f"the store {store.path} holds no run yet", "measure one: deadheat run")
    return [
        StoredRun(
            run_id=row["id"],
            started_at=datetime.datetime.fromisoformat(row["started_at"]),
            ended_at=datetime.datetime.fromisoformat(row["ended_at"]) if row["ended_at"] else None,
            state=state_of(row),
            protocol=str(json.loads(row["protocol"]).get("name", "?")),
            contenders=row["contenders"],
            trials=row["trials"],
        )
        for row in rows
    ]


def state_of(run: Mapping[str, Any]) -> str:
    """A row's state. One that nobody ended is `running` only while its process is there.

    Otherwise it is `lost`; or `unended`, where that process cannot be seen from here.
    """
    if run["state"] != "running":
        return str(run["state"])
    writer = Writer(**json.loads(run["writer"]))
    return {"alive": "running", "gone": "lost", "unknown": "unended"}[writer.state()]


def find_run(store: Store, wanted: str | None) -> str:
    """The id of the run whose id is, or alone begins with, `wanted`; the last run for None.

    Raises `StoreError` naming the runs it could have been.
    """
    ids = [run.run_id for run in list_runs(store)]
    if wanted is None:
        return ids[0]
    if wanted in ids:
        return wanted
    matches = [run_id for run_id in ids if wanted and run_id.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise StoreError(
            f"RUN {wanted!r}: {len(matches)} runs begin so: {_some(matches)}",
            "give more of its id",
        )
    near = difflib.get_close_matches(wanted, ids, n=NEAREST, cutoff=0.3) or ids[:NEAREST]
    raise StoreError(
        f"RUN {wanted!r}: no stored run has this id",
        f"the nearest: {', '.join(near)}; all of them: deadheat report --list",
    )


def lines(runs: Sequence[StoredRun]) -> str:
    """The runs as text, a line each; nothing is cut off, however long."""
    rows = [
        (
            run.run_id,
            format.moment(run.started_at),
            LISTED.get(run.state, run.state),
            format.plain(run.protocol, 20),
            format.count(run.contenders, "contender"),
            format.count(run.trials, "trial"),
        )
        for run in runs
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in rows
    )


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NEAREST]) + (", ..." if len(ids) > NEAREST else "")
