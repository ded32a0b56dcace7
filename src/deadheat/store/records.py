"""The frozen values that the store takes in."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Unit = Literal["share", "count", "us", "per_10k"]  # a share is of 1; per 10,000 requests


@dataclass(frozen=True, slots=True)
class Gate:
    """One check of a trial's validity: its reading against its threshold, and what to do."""

    code: str
    passed: bool
    reading: float | None
    threshold: float | None
    unit: Unit | None  # of both; None where there is neither
    advice: str

    def columns(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "passed": int(self.passed),
            "reading": self.reading,
            "threshold": self.threshold,
            "unit": self.unit,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial as it is kept: what was asked, what came of it, and everything it printed."""

    run_id: str
    contender_id: int
    instance_id: int | None
    kind: str
    invocation: int
    block: int
    connections: int
    at_s: float
    command: Sequence[str]
    state: str
    heat: int = 1
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
    errors: Mapping[str, int] = field(default_factory=dict)
    gates: Sequence[Gate] = ()

    def columns(self) -> dict[str, Any]:
        """The columns of table `trial`."""
        apart = {"histograms", "series", "errors", "gates"}
        values = {name: getattr(self, name) for name in self.__slots__ if name not in apart}
        values["command"] = json.dumps(list(self.command))
        values["result"] = json.dumps(self.result)
        values["stdout"] = zlib.compress(self.stdout.encode())
        values["stderr"] = zlib.compress(self.stderr.encode())
        return values
