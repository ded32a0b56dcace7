"""`Store`: one SQLite file with every run. Each trial is committed when it ends. `Writer` is the
process that writes a run and has to end it.
"""

import datetime
import fcntl
import json
import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from deadheat.build.leftovers import flocked
from deadheat.errors import StoreError
from deadheat.host.fingerprint import Fingerprint
from deadheat.protocol import StoredProtocol
from deadheat.store.copying import copy_run, insertion
from deadheat.store.json_columns import Conclusion, ImportedFrom
from deadheat.store.rows import Columns, TrialRecord
from deadheat.store.schema import create, is_store
from deadheat.store.slices import slices_json
from deadheat.strict import JsonObject

BUSY_TIMEOUT_S = 300.0  # an import of a large bundle is one transaction


class Store:
    """Writes runs, and runs the queries of this package. Readers can work while a run writes."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            self._connection = _read(path) if read_only else _write(path)
        except (OSError, sqlite3.Error, ValueError) as error:
            reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
            raise StoreError(
                f"the store {path} cannot be {'read' if read_only else 'written'}: {reason}",
                "name another with --store FILE or DEADHEAT_HOME",
            ) from error
        self._connection.row_factory = sqlite3.Row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def begin_run(
        self,
        *,
        protocol: StoredProtocol,
        command: Sequence[str],
        seed: int,
        deadheat_version: str,
        generator_version: str,
        conclusion: Conclusion | None = None,
    ) -> str:
        """Add a run in state `running`; returns its id.

        `conclusion` is what is known from the start. It stays if the process is killed.
        """
        now = datetime.datetime.now(datetime.UTC)
        row = {
            "started_at": now.isoformat(timespec="seconds"),
            "state": "running",
            "protocol": json.dumps(protocol.model_dump()),
            "command": json.dumps(list(command)),
            "seed": seed,
            "deadheat_version": deadheat_version,
            "generator_version": generator_version,
            "writer": Writer.this_process().to_text(),
            "conclusion": (conclusion or Conclusion()).to_text(),
        }
        with self._commit() as connection:
            connection.execute("BEGIN IMMEDIATE")  # no other process can take the free id
            run_id = _free_run_id(connection, now)
            _insert(connection, "run", {"id": run_id} | row)
        return run_id

    def reopen_run(self, run_id: str, writer: str, conclusion: Conclusion) -> None:
        """Make this process the writer of a run, in state `running`.

        `writer` is the column's text as it was read. Raises `StoreError` if it has changed:
        another process took the run over.
        """
        with self._commit() as connection:
            updated = connection.execute(
                "UPDATE run SET state = 'running', ended_at = NULL, writer = ?, conclusion = ?"
                " WHERE id = ? AND writer = ?",
                (Writer.this_process().to_text(), conclusion.to_text(), run_id, writer),
            )
        if updated.rowcount != 1:
            raise StoreError(f"run {run_id} has just been resumed by another process")

    def keep_conclusion(self, run_id: str, conclusion: Conclusion) -> None:
        """Store what is known of a run that goes on. It stays if the process is killed."""
        with self._commit() as connection:
            connection.execute(
                "UPDATE run SET conclusion = ? WHERE id = ?", (conclusion.to_text(), run_id)
            )

    def end_run(self, run_id: str, state: str, conclusion: Conclusion) -> None:
        """Close a run as `complete`, `interrupted` or `failed`."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self._commit() as connection:
            connection.execute(
                "UPDATE run SET state = ?, conclusion = ?, ended_at = ? WHERE id = ?",
                (state, conclusion.to_text(), now, run_id),
            )

    def add_host(
        self, run_id: str, role: str, cpus: Sequence[int], fingerprint: Fingerprint
    ) -> None:
        self._insert(
            "host",
            run_id=run_id,
            role=role,
            cpus=json.dumps(list(cpus)),
            fingerprint=json.dumps(fingerprint.to_json()),
        )

    def add_build(self, **values: Any) -> int:
        """Add a build of this machine, or find it if it is stored already; returns its id."""
        with self._commit() as connection:
            connection.execute("BEGIN IMMEDIATE")  # another run may add it, too
            row = connection.execute(
                "SELECT id FROM build WHERE server = ? AND key = ? AND imported_with IS NULL",
                (values["server"], values["key"]),
            ).fetchone()
            return row["id"] if row else _insert(connection, "build", _texts(values))

    def add_contender(self, **values: Any) -> int:
        return self._insert("contender", **_texts(values))

    def update_contender(self, contender_id: int, **values: Any) -> None:
        self._update("contender", contender_id, values)

    def add_instance(self, **values: Any) -> int:
        return self._insert("instance", **_texts(values))

    def update_instance(self, instance_id: int, **values: Any) -> None:
        self._update("instance", instance_id, values)

    def add_trial(self, record: TrialRecord) -> int:
        """Add a trial with its series, histograms, errors and gates in one transaction."""
        (trial_id,) = self.add_trials([record])
        return trial_id

    def add_trials(self, records: Sequence[TrialRecord]) -> list[int]:
        """Add all trials of a block in one transaction: all of them are stored, or none."""
        with self._commit() as connection:
            return [_insert_trial(connection, record) for record in records]

    def add_calibration(self, host_key: str, fingerprint: Fingerprint, result: JsonObject) -> int:
        return self._insert(
            "calibration",
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            host_key=host_key,
            fingerprint=json.dumps(fingerprint.to_json()),
            result=json.dumps(result),
        )

    def take(self, other: "Store", run_id: str, imported: ImportedFrom | None = None) -> None:
        """Copy a whole run of another store in one transaction.

        With `imported`, it is marked as such in its conclusion, and the run's builds and
        calibrations stay apart from those of this machine.
        """
        with self._commit() as connection:
            copy_run(other._connection, connection, run_id, imported)

    def settle(self) -> None:
        """Merge the write-ahead log into the file, so that the store is this one file."""
        with self._commit() as connection:
            connection.execute("PRAGMA journal_mode = DELETE")

    def rows(self, query: str, *values: object) -> list[Columns]:
        """Rows of a query as dictionaries."""
        return [dict(row) for row in self.select(query, *values)]

    def select(self, query: str, *values: object) -> list[sqlite3.Row]:
        """Rows of a query as SQLite gives them. Raises `StoreError` if it fails."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.path} cannot be read: {error}") from error

    def _insert(self, table: str, **values: Any) -> int:
        with self._commit() as connection:
            return _insert(connection, table, values)

    def _update(self, table: str, row_id: int, values: Mapping[str, Any]) -> None:
        texts = _texts(values)
        sets = ", ".join(f"{name} = ?" for name in texts)
        with self._commit() as connection:
            connection.execute(f"UPDATE {table} SET {sets} WHERE id = ?", (*texts.values(), row_id))

    @contextmanager
    def _commit(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._connection:
                yield self._connection
        except sqlite3.OperationalError as error:  # a full disk, a lock, a read-only file
            raise StoreError(
                f"the store {self.path} cannot be written: {error}",
                "free disk space, or name another place with --store FILE; what was measured stays",
            ) from error
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.path} refuses a row: {error}") from error


def _write(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)
    try:
        # SQLite does not wait when two processes switch to WAL together.
        with flocked(path.parent, fcntl.LOCK_EX):
            is_store(connection)  # leaves the database of another program as it is
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            create(connection)
            connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise ValueError("there is no such file")
    connection = _connect_read_only(path)
    try:
        if not is_store(connection):
            raise ValueError("it is empty")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that never writes, also where no file can be created beside the store.

    A store in WAL mode needs two such files, unless it is opened as immutable. That leaves out
    the write-ahead log, so the log must be empty. Raises `ValueError` if it is not.
    """
    uri = path.resolve().as_uri() + "?mode=ro"
    if not os.access(path.resolve().parent, os.W_OK):
        log = path.with_name(path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            uri += "&immutable=1"
        elif not path.with_name(path.name + "-shm").exists():
            raise ValueError(
                f"nothing can be written beside it, and {log.name} has rows that are not in it "
                f"yet; copy {path.name} and {log.name} to a folder that can be written"
            )
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)


def _free_run_id(connection: sqlite3.Connection, now: datetime.datetime) -> str:
    """A short id. Two runs that begin in the same second may draw the same one."""
    while True:
        run_id = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        if connection.execute("SELECT 1 FROM run WHERE id = ?", (run_id,)).fetchone() is None:
            return run_id


def _insert_trial(connection: sqlite3.Connection, record: TrialRecord) -> int:
    trial_id = _insert(connection, "trial", record.columns())
    for name, text in record.histograms.items():
        row = {"trial_id": trial_id, "name": name, "hdr_v2_base64": text}
        _insert(connection, "histogram", row)
    for name, rows in record.series.items():
        packed = zlib.compress(json.dumps(rows).encode())
        _insert(connection, "series", {"trial_id": trial_id, "name": name, "rows": packed})
    if record.slices:
        packed = zlib.compress(slices_json(record.slices))
        _insert(connection, "series", {"trial_id": trial_id, "name": "slices", "rows": packed})
    for name, count in record.errors.items():
        _insert(connection, "error", {"trial_id": trial_id, "class": name, "requests": count})
    for gate in record.gates:
        _insert(connection, "gate", {"trial_id": trial_id, **asdict(gate)})
    return trial_id


def _insert(connection: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int:
    cursor = connection.execute(insertion(table, values), tuple(values.values()))
    return cursor.lastrowid or 0


def _texts(values: JsonObject) -> Columns:
    """Mappings and sequences as JSON text, everything else unchanged."""
    return {
        name: json.dumps(value) if isinstance(value, dict | list | tuple) else value
        for name, value in values.items()
    }


BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE = Path("/proc/self/ns/pid")
STATES = {"alive": "running", "gone": "lost", "unknown": "unended"}  # of a run without an end


@dataclass(frozen=True, slots=True)
class Writer:
    """A process. A later process with the same number has another start.

    `start_ticks` is field 22 of /proc/PID/stat (proc(5)), counted since the machine started.
    """

    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int

    @classmethod
    def this_process(cls) -> Self:
        pid = os.getpid()
        return cls(*_here(), pid, _start_ticks(pid) or 0)

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    def state(self) -> Literal["alive", "gone", "unknown"]:
        """`unknown` if its number means nothing here: another machine, boot or container."""
        if (self.boot_id, self.pid_namespace) != _here():
            return "unknown"
        return "alive" if _start_ticks(self.pid) == self.start_ticks else "gone"


def run_state(state: str, writer: str) -> str:
    """A run's state from its columns `state` and `writer`.

    A run that is stored as `running` is `lost` if its process is gone, and `unended` if that
    process cannot be seen from here.
    """
    return STATES[Writer(**json.loads(writer)).state()] if state == "running" else state


def _here() -> tuple[str, str]:
    return BOOT_ID.read_text(encoding="ascii").strip(), str(PID_NAMESPACE.readlink())


def _start_ticks(pid: int) -> int | None:
    """None for a process that has ended, or is a zombie. Its name may hold any character."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
