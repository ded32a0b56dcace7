"""The frozen values that the store gives back: one for each row, with its JSON decoded."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from deadheat.errors import StoreError
from deadheat.host.fingerprint import Fingerprint
from deadheat.inflate import inflate, parse


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
    manifest: Mapping[str, Any]
    build_id: int | None
    build_key: str | None
    fault: str | None

    @property
    def is_own(self) -> bool:
        """Whether it is a server of the user's own, which the catalog does not have."""
        return self.role == "contender" and "language" not in self.manifest


@dataclass(frozen=True, slots=True)
class StoredInstance:
    """One started process tree of a contender."""

    contender_id: int
    invocation: int
    command: tuple[str, ...]
    ready_s: float | None
    behavior: Mapping[str, Any] | None
    steady: Mapping[str, Any] | None
    fault: str | None
    log_tail: str | None
    ended: Mapping[str, Any] | None

    @property
    def workload_faults(self) -> Mapping[str, str]:
        """How its contender answered workloads wrong, by workload."""
        faults = (self.behavior or {}).get("workload_faults")
        if not isinstance(faults, Mapping):
            return {}
        return {name: fault for name, fault in faults.items() if isinstance(fault, str)}


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
        try:
            return _command(self.command_json)
        except ValueError as error:
            raise self._unreadable("command", error) from error

    @property
    def result(self) -> Mapping[str, Any]:
        """Every other figure that the generator reported."""
        try:
            result: Mapping[str, Any] = parse(self.result_json or "{}")
        except ValueError as error:
            raise self._unreadable("result", error) from error
        return result

    def _unreadable(self, column: str, error: ValueError) -> StoreError:
        return StoreError(f"run {self.run_id}: {column} of trial {self.id} cannot be read: {error}")


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
    result: Mapping[str, Any]


def unpacked(packed: bytes) -> list[Any]:
    """The rows of a series. Raises `ValueError`."""
    rows: list[Any] = parse(inflate(packed))
    return rows


@lru_cache(maxsize=1024)
def _command(text: str) -> tuple[str, ...]:
    """Few commands of a run differ."""
    return tuple(parse(text))
