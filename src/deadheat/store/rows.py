"""The frozen values of the store: those that it takes in, and those that it gives back, which are
one for each row, with its JSON decoded.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from deadheat.host.fingerprint import Fingerprint
from deadheat.inflate import inflate, parse
from deadheat.store.json_columns import (
    Behavior,
    CalibrationResult,
    StoredEnding,
    StoredManifest,
    TrialResult,
    WarmUp,
    decoded,
    parsed,
    words_of,
)
from deadheat.store.slices import StoredSlice
from deadheat.strict import JsonObject

EXPLAINED, STACKS = "explained", "stacks"  # in a trial's result, and among its series


@dataclass(frozen=True, slots=True)
class StoredHost:
    """A machine in its role, with the CPUs it was given."""

    role: str
    cpus: tuple[int, ...]
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class StoredContender:
    """A contender of a run. `build_id` and `build_key` are None if it needed no build."""

    id: int
    name: str
    server: str
    setting: str
    label: str | None  # as published
    role: str
    workers: int
    threads: int
    version: str | None
    manifest: StoredManifest
    build_id: int | None
    build_key: str | None
    fault: str | None

    @property
    def is_own(self) -> bool:
        """Whether it is a server of the user's own, which the catalog does not have."""
        return self.role == "contender" and self.manifest.language is None


@dataclass(frozen=True, slots=True)
class StoredInstance:
    """One started process tree of a contender."""

    contender_id: int
    invocation: int
    command: tuple[str, ...]
    ready_s: float | None
    behavior: Behavior | None
    steady: WarmUp | None
    fault: str | None
    log_tail: str | None
    ended: StoredEnding | None

    @property
    def workload_faults(self) -> Mapping[str, str]:
        """How its contender answered workloads wrong, by workload."""
        return self.behavior.workload_faults if self.behavior else {}


class StoredTrial(NamedTuple):
    """One trial, without its output and without the rows of other tables.

    A named tuple, because a run may have tens of thousands.
    """

    id: int
    run_id: str
    contender_id: int
    instance_id: int | None
    kind: str
    invocation: int
    block: int
    heat: int
    at_s: float  # since the start of the run
    workload: str  # of the level: controls get hello at each
    connections: int
    offered_rate_per_s: float | None
    command_json: str
    state: str
    reason: str | None
    rate_per_s: float | None
    requests_ok: int | None
    elapsed_s: float | None
    server_cpu_us_per_request: float | None
    memory_peak_bytes: int | None
    result_json: str | None

    @property
    def command(self) -> tuple[str, ...]:
        return decoded(_command, self.command_json, self.run_id, f"command of trial {self.id}")

    @property
    def result(self) -> TrialResult:
        """Every other figure that the generator reported. Raises `StoreError`."""
        text = self.result_json or "{}"
        return parsed(TrialResult.model_validate, text, self.run_id, f"result of trial {self.id}")


@dataclass(frozen=True, slots=True)
class StoredBuild:
    """How a server was built. `files` maps sources and lock files to their SHA-256."""

    key: str
    built_at: str
    elapsed_s: float
    toolchains: Mapping[str, str]
    files: Mapping[str, str]
    log: str


@dataclass(frozen=True, slots=True)
class TrialOutput:
    """What the load generator printed in one trial."""

    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """One result of `deadheat calibrate`."""

    at: str
    result: CalibrationResult


def unpacked(packed: bytes) -> list[Any]:
    """The rows of a series. Raises `ValueError`."""
    rows: list[Any] = parse(inflate(packed))
    return rows


_command = lru_cache(maxsize=1024)(words_of)  # few commands of a run differ


Columns = dict[str, Any]  # of a table: SQLite's values by column
Unit = Literal["share", "count", "us", "per_10k"]  # a share is of 1; per 10,000 requests
POOLED_GATES = ("ceiling", "client_cpu")  # judged over all closed-loop trials of a contender
PARTS = ("histograms", "series", "slices", "errors", "gates")  # in tables of their own


@dataclass(frozen=True, slots=True)
class Gate:
    """One check of a trial's validity, and a row of table `gate`."""

    code: str
    passed: bool
    reading: float | None
    threshold: float | None
    unit: Unit | None  # of both; None if there is neither
    advice: str


@dataclass(frozen=True, slots=True)
class TrialPlace:
    """Where a trial stands in a run. `at_s` counts from the start of the run."""

    run_id: str
    contender_id: int
    instance_id: int | None
    kind: str
    invocation: int
    block: int
    heat: int
    at_s: float
    workload: str = field(default="hello", kw_only=True)  # of the level; controls get hello


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord(TrialPlace):
    """One trial as stored: what was asked, what came of it, and everything it printed."""

    connections: int
    command: Sequence[str]
    state: str
    reason: str | None = None
    offered_rate_per_s: float | None = None
    rate_per_s: float | None = None
    requests_ok: int | None = None
    elapsed_s: float | None = None
    server_cpu_us_per_request: float | None = None
    memory_peak_bytes: int | None = None
    processes: int | None = None
    threads: int | None = None
    result: JsonObject = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    histograms: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    slices: Sequence[StoredSlice] = ()  # what a trial of slices is the sum of
    errors: Mapping[str, int] = field(default_factory=dict)
    gates: Sequence[Gate] = ()

    @property
    def figures(self) -> TrialResult:
        """The result, as it will be read from the store."""
        return TrialResult.model_validate(self.result)

    @classmethod
    def at(cls, place: TrialPlace | StoredTrial, **values: Any) -> Self:
        """A record of the trial at `place`; `values` are the other fields."""
        return cls(
            **{each.name: getattr(place, each.name) for each in fields(TrialPlace)}, **values
        )

    def columns(self) -> Columns:
        """The columns of table `trial`."""
        names = [each.name for each in fields(self) if each.name not in PARTS]
        return {name: getattr(self, name) for name in names} | {
            "command": json.dumps(list(self.command)),
            "result": json.dumps(self.result),
            "stdout": zlib.compress(self.stdout.encode()),
            "stderr": zlib.compress(self.stderr.encode()),
        }
