"""The frozen values that the store takes in."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from deadheat.store.json_columns import TrialResult
from deadheat.store.rows import StoredTrial
from deadheat.store.slices import StoredSlice

Unit = Literal["share", "count", "us", "per_10k"]  # a share is of 1; per 10,000 requests
POOLED_GATES = ("ceiling", "client_cpu")  # judged over all closed-loop trials of a contender
PARTS = ("histograms", "series", "slices", "errors", "gates")  # in tables of their own


@dataclass(frozen=True, slots=True)
class Gate:
    """One check of a trial's validity: its reading, its threshold, and advice."""

    code: str
    passed: bool
    reading: float | None
    threshold: float | None
    unit: Unit | None  # of both; None if there is neither
    advice: str

    def columns(self) -> dict[str, Any]:
        """The columns of table `gate`."""
        return {
            "code": self.code,
            "passed": int(self.passed),
            "reading": self.reading,
            "threshold": self.threshold,
            "unit": self.unit,
            "advice": self.advice,
        }


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
    result: Mapping[str, Any] = field(default_factory=dict)
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

    def columns(self) -> dict[str, Any]:
        """The columns of table `trial`."""
        names = [each.name for each in fields(self) if each.name not in PARTS]
        return {name: getattr(self, name) for name in names} | {
            "command": json.dumps(list(self.command)),
            "result": json.dumps(self.result),
            "stdout": zlib.compress(self.stdout.encode()),
            "stderr": zlib.compress(self.stderr.encode()),
        }
