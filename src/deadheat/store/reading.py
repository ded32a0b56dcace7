"""`StoredRun`: one run read from the store, for every reader of it."""

import datetime
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import groupby
from typing import Any, TypeVar

from deadheat.errors import StoreError
from deadheat.foreign_text import without_secrets
from deadheat.host.fingerprint import Fingerprint
from deadheat.inflate import inflate, parse
from deadheat.protocol import StoredProtocol, protocol_of
from deadheat.store.copying import masked_row
from deadheat.store.json_columns import (
    Behavior,
    CalibrationResult,
    Conclusion,
    StoredEnding,
    StoredJson,
    StoredManifest,
    WarmUp,
    decoded,
    masked_protocol,
    parsed,
    secrets_of,
    words_of,
)
from deadheat.store.rows import (
    Columns,
    Gate,
    StoredBuild,
    StoredCalibration,
    StoredContender,
    StoredHost,
    StoredInstance,
    StoredTrial,
    TrialOutput,
    unpacked,
)
from deadheat.store.slices import PackedSlices
from deadheat.store.store import Store, run_state

Shape = TypeVar("Shape", StoredContender, StoredInstance, StoredBuild)
JSON_COLUMNS: Mapping[str, type[StoredJson]] = {
    "behavior": Behavior,
    "steady": WarmUp,
    "ended": StoredEnding,
}

OF_RUN = "trial_id IN (SELECT id FROM trial WHERE run_id = ?)"
CONTENDERS = """
    SELECT contender.*, build.key AS build_key
    FROM contender LEFT JOIN build ON build.id = contender.build_id
    WHERE run_id = ? ORDER BY position, contender.id
"""
INSTANCES = """
    SELECT instance.* FROM contender JOIN instance ON instance.contender_id = contender.id
    WHERE contender.run_id = ? ORDER BY instance.id
"""
# By id: SQLite would sort whole rows where it finds them by their run.
TRIALS = f"""
    SELECT {", ".join(name.removesuffix("_json") for name in StoredTrial._fields)}
    FROM trial WHERE id IN (SELECT id FROM trial WHERE run_id = ?) ORDER BY id
"""
GATES_FAILED = f"""
    SELECT trial_id, code, reading, threshold, unit, advice
    FROM gate WHERE NOT passed AND {OF_RUN} ORDER BY trial_id, code
"""
GATE_CODES = f"SELECT DISTINCT code FROM gate WHERE {OF_RUN} ORDER BY code"
CLIENT_BUSY = f"SELECT trial_id, reading FROM gate WHERE code = 'client_cpu' AND {OF_RUN}"
ERRORS = f"SELECT * FROM error WHERE {OF_RUN} ORDER BY trial_id, class"
OUTPUTS = """
    SELECT id, stdout, stderr FROM trial
    WHERE run_id = ? AND id IN (SELECT value FROM json_each(?))
"""
BUILDS = "SELECT * FROM build WHERE id IN (SELECT build_id FROM contender WHERE run_id = ?)"
CALIBRATION = """
    SELECT at, result FROM calibration
    WHERE host_key = ? AND imported_with IS ? ORDER BY id DESC LIMIT 1
"""
HISTOGRAMS = """
    SELECT hdr_v2_base64 FROM histogram
    WHERE name = ? AND trial_id IN (SELECT value FROM json_each(?)) ORDER BY trial_id
"""
SLICES = f"SELECT trial_id, rows FROM series WHERE {OF_RUN} AND name = 'slices' ORDER BY trial_id"
OF_TRIAL = "SELECT rows FROM series WHERE trial_id = ? AND name = ?"


@dataclass(frozen=True)
class StoredRun:
    """One run with its hosts, contenders, instances and trials, in their order.

    Everything else is read when it is first asked for, which needs the store to be open. It is
    found by the trial's id.
    """

    id: str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    state: str  # as `run_state` has it
    protocol: StoredProtocol
    command: tuple[str, ...]
    seed: int
    deadheat_version: str
    generator_version: str
    writer: str  # the column's text
    conclusion: Conclusion
    hosts: tuple[StoredHost, ...]
    contenders: tuple[StoredContender, ...]
    instances: tuple[StoredInstance, ...]
    trials: tuple[StoredTrial, ...]
    _store: Store = field(repr=False, compare=False)

    @cached_property
    def gates_failed(self) -> Mapping[int, tuple[Gate, ...]]:
        """The failed gates of each trial that has any, by code."""
        gates: defaultdict[int, tuple[Gate, ...]] = defaultdict(tuple)
        for trial_id, code, *figures in self._store.select(GATES_FAILED, self.id):
            gates[trial_id] += (Gate(code, False, *figures),)
        return dict(gates)

    @cached_property
    def gate_codes(self) -> tuple[str, ...]:
        """Every gate that any trial was checked with."""
        return tuple(row["code"] for row in self._store.select(GATE_CODES, self.id))

    @cached_property
    def client_busy_shares(self) -> Mapping[int, float]:
        """How busy the busiest client thread was, of each trial with that reading."""
        return {
            row["trial_id"]: row["reading"]
            for row in self._store.select(CLIENT_BUSY, self.id)
            if row["reading"] is not None
        }

    @cached_property
    def errors(self) -> Mapping[int, Mapping[str, int]]:
        """Failed requests by class, of each trial that has any."""
        errors: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for row in self._store.select(ERRORS, self.id):
            errors[row["trial_id"]][row["class"]] = row["requests"]
        return dict(errors)

    @cached_property
    def builds(self) -> Mapping[int, StoredBuild]:
        """The builds of its contenders by `build_id`."""
        return {row["id"]: _build(row, self.id) for row in self._store.rows(BUILDS, self.id)}

    def histograms(self, name: str, trial_ids: Collection[int]) -> list[str]:
        """HdrHistograms (V2, base64) of these trials, in the order of their ids."""
        rows = self._store.select(HISTOGRAMS, name, json.dumps(list(trial_ids)))
        return [row["hdr_v2_base64"] for row in rows]

    @cached_property
    def slices(self) -> Mapping[int, PackedSlices]:
        """The slices of each trial that has any, not decoded yet."""
        return {
            row["trial_id"]: PackedSlices(
                row["rows"], self.id, f"series slices of trial {row['trial_id']}"
            )
            for row in self._store.select(SLICES, self.id)
        }

    def series(
        self, *names: str, trial_ids: Collection[int] | None = None
    ) -> Iterator[tuple[int, dict[str, list[Any]]]]:
        """The named series of each trial that has any, decoded one trial after the other.

        With `trial_ids`, of these trials only.
        """
        marks = ", ".join("?" * len(names))
        query, values = f"SELECT * FROM series WHERE {OF_RUN} AND name IN ({marks})", [*names]
        if trial_ids is not None:
            query += " AND trial_id IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(trial_ids)))
        rows = self._store.select(f"{query} ORDER BY trial_id", self.id, *values)
        for trial_id, group in groupby(rows, key=lambda row: int(row["trial_id"])):
            yield (
                trial_id,
                {
                    row["name"]: decoded(
                        unpacked, row["rows"], self.id, f"series {row['name']} of trial {trial_id}"
                    )
                    for row in group
                },
            )

    def outputs(self, trial_ids: Collection[int]) -> dict[int, TrialOutput]:
        """What the generator printed in these trials."""
        rows = self._store.select(OUTPUTS, self.id, json.dumps(list(trial_ids)))
        return {
            row["id"]: TrialOutput(
                *(
                    decoded(_text, row[name], self.id, f"{name} of trial {row['id']}")
                    for name in ("stdout", "stderr")
                )
            )
            for row in rows
        }

    def calibration(self, host_key: str) -> StoredCalibration | None:
        """The newest calibration of a machine of that key.

        A run that was measured here has those of this store; an imported run has what came with it.
        """
        owner = self.id if self.conclusion.imported else None
        for row in self._store.select(CALIBRATION, host_key, owner):
            read = CalibrationResult.model_validate
            result = parsed(read, row["result"], self.id, "its calibration")
            return StoredCalibration(row["at"], result)
        return None


def read_run(store: Store, run_id: str, *, with_secrets: bool = False) -> StoredRun:
    """The run of that id. Raises `StoreError` if there is none.

    What looks like a password in its command is shown as `***`, unless `with_secrets`: to start
    the same server again.
    """
    runs = store.select("SELECT * FROM run WHERE id = ?", run_id)
    if not runs:
        raise StoreError(f"the store {store.path} has no run {run_id}")
    run = runs[0]
    hosts = store.select("SELECT * FROM host WHERE run_id = ? ORDER BY role DESC", run_id)
    command = decoded(words_of, run["command"], run_id, "command")
    shown, _ = without_secrets(command)
    secrets = secrets_of(command, decoded(parse, run["protocol"], run_id, "protocol"))
    hidden = frozenset() if with_secrets else secrets

    def rows_of(table: str, query: str) -> Iterable[Columns]:
        rows = store.rows(query, run_id)
        return map(partial(masked_row, hidden, run_id, table), rows) if hidden else rows

    trials: Iterable[Iterable[Any]] = (
        (row.values() for row in rows_of("trial", TRIALS))
        if hidden
        else store.select(TRIALS, run_id)  # there may be many
    )
    return StoredRun(
        id=run_id,
        started_at=datetime.datetime.fromisoformat(run["started_at"]),
        ended_at=datetime.datetime.fromisoformat(run["ended_at"]) if run["ended_at"] else None,
        state=run_state(run["state"], run["writer"]),
        protocol=parsed(
            lambda values: protocol_of(masked_protocol(values, hidden)),
            run["protocol"],
            run_id,
            "protocol",
        ),
        command=command if with_secrets else shown,
        seed=run["seed"],
        deadheat_version=run["deadheat_version"],
        generator_version=run["generator_version"],
        writer=run["writer"],
        conclusion=parsed(Conclusion.model_validate, run["conclusion"], run_id, "conclusion"),
        hosts=tuple(
            StoredHost(
                row["role"],
                tuple(decoded(parse, row["cpus"], run_id, "the CPUs of a host")),
                parsed(
                    Fingerprint.model_validate,
                    row["fingerprint"],
                    run_id,
                    "the fingerprint of a host",
                ),
            )
            for row in hosts
        ),
        contenders=tuple(_contender(row, run_id) for row in rows_of("contender", CONTENDERS)),
        instances=tuple(_instance(row, run_id) for row in rows_of("instance", INSTANCES)),
        trials=tuple(map(StoredTrial._make, trials)),
        _store=store,
    )


def trial_series(store: Store, trial_id: int, name: str) -> list[Any]:
    """One series of one trial; empty if it has none."""
    rows = store.select(OF_TRIAL, trial_id, name)
    return decoded(unpacked, rows[0]["rows"], f"of trial {trial_id}", name) if rows else []


def _contender(row: Columns, run_id: str) -> StoredContender:
    what = f"the manifest of contender {row['id']}"
    manifest = parsed(StoredManifest.model_validate, row["manifest"], run_id, what)
    return _as(StoredContender, row, manifest=manifest)


def _instance(row: Columns, run_id: str) -> StoredInstance:
    columns = {
        name: parsed(shape.model_validate, row[name], run_id, f"{name} of instance {row['id']}")
        if row[name]
        else None
        for name, shape in JSON_COLUMNS.items()
    }
    command = decoded(words_of, row["command"], run_id, f"command of instance {row['id']}")
    return _as(StoredInstance, row, command=command, **columns)


def _build(row: Columns, run_id: str) -> StoredBuild:
    columns = {
        name: decoded(parse, row[name], run_id, f"{name} of build {row['id']}")
        for name in ("toolchains", "files")
    }
    return _as(StoredBuild, row, **columns)


def _as(shape: type[Shape], row: Columns, **decoded: Any) -> Shape:
    """The columns that `shape` has, with those in `decoded` in place of their text."""
    return shape(**{each.name: row[each.name] for each in fields(shape)} | decoded)


def _text(packed: bytes | None) -> str:
    return inflate(packed).decode(errors="replace") if packed else ""
