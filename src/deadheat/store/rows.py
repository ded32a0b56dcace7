"""The frozen values that the store gives back: one for each row, with its JSON decoded."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Self

from pydantic import ConfigDict, Field

from deadheat.errors import StoreError
from deadheat.host.fingerprint import Fingerprint
from deadheat.inflate import inflate, parse

Known = Annotated[float | None, Field(allow_inf_nan=False)]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRequest:
    """What one request took, on average over a trial. None: not counted, as in older runs."""

    __pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    user_us: Known = None
    """CPU time of the server's process tree in its own code."""
    system_us: Known = None
    """CPU time of the kernel on behalf of the tree."""
    voluntary_switches: Known = None
    """Times that a thread of the server gave its CPU up, to wait."""
    involuntary_switches: Known = None
    """Times that another task took its CPU."""
    page_faults: Known = None
    packets_in: Known = None
    """TCP segments of the server, with data or without."""
    data_packets_in: Known = None
    """Those with data."""
    packets_out: Known = None
    """TCP segments of the client, with data or without."""
    bytes_in: Known = None
    """Bytes of a response, with its head."""
    bytes_out: Known = None
    """Bytes of a request, with its head."""

    @classmethod
    def stored(cls, result: Mapping[str, Any]) -> Self | None:
        """That of a trial's result; None if it has none, or what no trial writes."""
        figures = result.get("per_request")
        if not isinstance(figures, Mapping):
            return None
        names = {each.name for each in fields(cls)}
        usable = {n: v for n, v in figures.items() if n in names and isinstance(v, int | float)}
        return cls(**{name: float(v) for name, v in usable.items() if math.isfinite(v)})

    @classmethod
    def median_of(cls, parts: Sequence[Self]) -> Self | None:
        """The median of each figure over trials; None without any."""
        figures = {}
        for each in fields(cls):
            known = [v for part in parts if (v := getattr(part, each.name)) is not None]
            figures[each.name] = statistics.median(known) if known else None
        return cls(**figures) if any(v is not None for v in figures.values()) else None

    def adding_up_to(self, cpu_us: float | None) -> Self:
        """With user and system time scaled so that their sum is the median of the sums."""
        if cpu_us is None or not self.user_us or self.system_us is None:
            return self
        factor = cpu_us / (self.user_us + self.system_us)
        return replace(self, user_us=self.user_us * factor, system_us=self.system_us * factor)


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
