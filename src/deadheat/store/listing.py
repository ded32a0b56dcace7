"""What a list of runs shows: queries over many runs that read none of them whole.

Also how a printed command names a run, and which runs can be deleted.
"""

import datetime
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deadheat.catalog.manifest import TRANSPORTS
from deadheat.errors import StoreError
from deadheat.home import home
from deadheat.inflate import parse
from deadheat.protocol import StoredProtocol, protocol_of
from deadheat.store.copying import BELONGS, SHARED
from deadheat.store.json_columns import parsed
from deadheat.store.rows import POOLED_GATES
from deadheat.store.store import Store, run_state
from deadheat.strict import JsonObject
from deadheat.workload import over

VALID = f"""trial.state = 'ok' AND NOT EXISTS (
    SELECT 1 FROM gate
    WHERE gate.trial_id = trial.id AND NOT gate.passed AND gate.code NOT IN {POOLED_GATES}
)"""
SUMMARIES = f"""
    SELECT id, started_at, ended_at, state, writer, protocol,
           json_extract(conclusion, '$.imported') IS NOT NULL AS imported,
           (SELECT count(*) FROM contender
            WHERE run_id = run.id AND role = 'contender') AS contenders,
           (SELECT count(*) FROM trial WHERE run_id = run.id) AS trials,
           state != 'running' AND json_extract(conclusion, '$.imported') IS NULL AND NOT EXISTS (
               SELECT 1 FROM trial JOIN contender ON contender.id = trial.contender_id
               WHERE trial.run_id = run.id AND contender.role = 'contender' AND {VALID}
           ) AS is_empty
    FROM run
"""
NEWEST_FIRST = " ORDER BY started_at DESC, rowid DESC"
RUNNING = "SELECT id, state, writer FROM run WHERE state = 'running'"
WITH_TRIALS = """
    SELECT id, protocol FROM run WHERE EXISTS (SELECT 1 FROM trial WHERE run_id = run.id)
"""
LINKED = """
    SELECT DISTINCT run_id FROM host
    WHERE CASE WHEN json_valid(fingerprint) THEN json_type(fingerprint, '$.link') END = 'object'
"""
CONTENDERS = "SELECT run_id, name FROM contender WHERE role = 'contender' ORDER BY run_id, position"
PROGRESS = """
    SELECT run.id, run.protocol,
           (SELECT count(*) FROM contender WHERE run_id = run.id) AS contenders,
           (SELECT count(*) FROM trial WHERE run_id = run.id AND kind = 'measure') AS trials,
           (SELECT max(at_s) FROM trial WHERE run_id = run.id) AS last_trial_at_s
    FROM run WHERE run.id = ?
"""
RACED = """
    SELECT run.id AS run_id, run.state, run.writer, run.protocol, contender.name,
           contender.manifest, contender.fault, build.key AS build_key,
           (SELECT count(*) FROM trial WHERE contender_id = contender.id) AS trials,
           (SELECT max(memory_peak_bytes) FROM trial WHERE contender_id = contender.id)
               AS memory_bytes
    FROM contender JOIN run ON run.id = contender.run_id
    LEFT JOIN build ON build.id = contender.build_id
    WHERE contender.role = 'contender' ORDER BY run.started_at, run.rowid, contender.position
"""
# CROSS JOIN sets the order: if SQLite chooses, it reads every trial of the store.
VALID_RATES = f"""
    SELECT run.id AS run_id, run.started_at, contender.version, trial.workload, trial.connections,
           trial.rate_per_s, json_extract(run.conclusion, '$.imported') IS NOT NULL AS imported
    FROM contender CROSS JOIN run ON run.id = contender.run_id
    CROSS JOIN trial ON trial.run_id = run.id AND trial.contender_id = contender.id
    WHERE contender.name IN (?, ?, ?, ?) AND trial.kind = 'measure' AND {VALID}
    ORDER BY run.started_at, run.rowid, trial.workload, trial.connections
"""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a list. `state` is as `run_state` has it; controls are not counted.

    An empty run has ended without a valid trial of a contender; those of controls do not count.
    """

    run_id: str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    state: str
    protocol: str
    contenders: int
    trials: int
    imported: bool = False
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is. `contenders` counts controls too; `trials` only those in closed loop."""

    contenders: int
    trials: int
    last_trial_at_s: float | None  # since the run's start
    protocol: StoredProtocol


@dataclass(frozen=True, slots=True)
class ValidRate:
    """The rate of one valid trial, in requests/s, with the version that was measured."""

    run_id: str
    started_at: datetime.datetime
    version: str | None
    connections: int
    rate_per_s: float
    imported: bool = False  # measured elsewhere
    workload: str = "hello"


@dataclass(frozen=True, slots=True)
class RacedContender:
    """A contender of a run that has ended or not; `memory_bytes` is the most of any trial."""

    run_id: str
    state: str
    protocol: StoredProtocol
    name: str
    manifest: JsonObject
    build_key: str | None
    trials: int
    memory_bytes: int | None
    fault: str | None


def raced_contenders(store: Store) -> list[RacedContender]:
    """Every contender of every run, the oldest run first."""
    contenders, protocols = [], dict[str, StoredProtocol]()
    for row in store.rows(RACED):
        run_id = row["run_id"]
        if run_id not in protocols:
            protocols[run_id] = parsed(protocol_of, row["protocol"], run_id, "protocol")
        contenders.append(
            RacedContender(
                run_id=run_id,
                state=run_state(row["state"], row["writer"]),
                protocol=protocols[run_id],
                name=row["name"],
                manifest=parse(row["manifest"]),
                build_key=row["build_key"],
                trials=row["trials"],
                memory_bytes=row["memory_bytes"],
                fault=row["fault"],
            )
        )
    return contenders


def run_ids(store: Store) -> list[str]:
    """The ids of all runs, the newest first."""
    return [row["id"] for row in store.rows("SELECT id FROM run" + NEWEST_FIRST)]


def run_summaries(store: Store) -> list[RunSummary]:
    """Every run, the newest first."""
    return [_summary(row) for row in store.rows(SUMMARIES + NEWEST_FIRST)]


def run_summary(store: Store, run_id: str) -> RunSummary:
    """One run. Raises `StoreError` if there is none of that id."""
    for row in store.rows(SUMMARIES + " WHERE id = ?", run_id):
        return _summary(row)
    raise StoreError(f"the store {store.path} has no run {run_id}")


def run_progress(store: Store, run_id: str) -> RunProgress:
    """Raises `StoreError` if there is no run of that id, or if its protocol cannot be read."""
    for row in store.rows(PROGRESS, run_id):
        numbers = (row["contenders"], row["trials"], row["last_trial_at_s"])
        return RunProgress(*numbers, parsed(protocol_of, row["protocol"], run_id, "protocol"))
    raise StoreError(f"the store {store.path} has no run {run_id}")


def runs_under_way(store: Store) -> list[str]:
    """The ids of the runs whose process is still at work on this machine."""
    rows = store.rows(RUNNING)
    return [row["id"] for row in rows if run_state(row["state"], row["writer"]) == "running"]


def latest_run_of(store: Store, protocol: str, on_several_hosts: bool | None = None) -> str | None:
    """The newest run of a protocol that has a trial; None if there is none.

    `on_several_hosts` restricts it to runs with their client on another host, or on the same.
    """
    linked = {str(row["run_id"]) for row in store.rows(LINKED)}
    for row in store.rows(WITH_TRIALS + NEWEST_FIRST):
        run_id = str(row["id"])
        if _name(row) == protocol and on_several_hosts in (None, run_id in linked):
            return run_id
    return None


def contender_names(store: Store) -> Mapping[str, list[str]]:
    """The contenders of each run by its id, without controls; an empty list for a run of none."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for row in store.rows(CONTENDERS):
        names[row["run_id"]].append(row["name"])
    return names


def valid_rates(store: Store, contender: str) -> list[ValidRate]:
    """Every valid trial of a contender in closed loop, by the time of its run, then by level.

    It has a name of its own over each transport.
    """
    return [
        ValidRate(
            **row
            | {
                "started_at": datetime.datetime.fromisoformat(row["started_at"]),
                "imported": bool(row["imported"]),
            }
        )
        for row in store.rows(VALID_RATES, *(over(contender, each) for each in TRANSPORTS))
    ]


def _summary(row: Mapping[str, Any]) -> RunSummary:
    return RunSummary(
        run_id=row["id"],
        started_at=datetime.datetime.fromisoformat(row["started_at"]),
        ended_at=datetime.datetime.fromisoformat(row["ended_at"]) if row["ended_at"] else None,
        state=run_state(row["state"], row["writer"]),
        protocol=_name(row),
        contenders=row["contenders"],
        trials=row["trials"],
        imported=bool(row["imported"]),
        is_empty=bool(row["is_empty"]),
    )


def _name(row: Mapping[str, Any]) -> str:
    """Of the protocol and its workloads; the rest of it is not checked."""
    try:
        protocol = parse(row["protocol"])
        return ", ".join([protocol["name"], *(each["name"] for each in protocol["workloads"])])
    except (ValueError, LookupError, TypeError) as error:
        raise StoreError(f"run {row['id']}: protocol cannot be read: {error}") from error


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


def short_id(run_id: str) -> str:
    """The last part of an id, which commands accept as RUN."""
    return run_id.rpartition("-")[2]


def run_argument(run_id: str, path: Path) -> str:
    """The end of the id, and --store unless `path` is the default store."""
    return short_id(run_id) + store_option(path)


def store_option(path: Path) -> str:
    """` --store FILE`, or nothing for the default store."""
    default = path.absolute() == (home() / "runs.sqlite").absolute()
    return "" if default else f" --store {shlex.quote(str(path))}"


def kept_options(
    command: Sequence[str], options: Sequence[str], flags: Sequence[str] = ()
) -> list[str]:
    """Those of these options that a command has before `--`, with their values."""
    words = list(command[: command.index("--") if "--" in command else None])
    kept = []
    for place, word in enumerate(words):
        if word in options:
            kept += words[place : place + 2]
        elif word in flags or word.startswith(tuple(f"{option}=" for option in options)):
            kept.append(word)
    return kept
