"""What every load generator is asked, and what it answers in the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from deadheat.errors import DeadheatError
from deadheat.host import Completed


class GeneratorMissing(DeadheatError):
    """The load generator is not on the load host."""


class GeneratorFailed(DeadheatError):
    """The load generator ran, and what it printed is no result."""


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """One trial's load."""

    url: str
    connections: int
    duration_s: float
    threads: int = 1
    discard_s: float = 0.0
    timeout_s: float = 5.0
    keep_alive: bool = True
    rate_per_s: float | None = None  # None: closed loop
    seed: int = 0
    request_cap: int | None = None
    expect_body: str | None = None
    arguments: Sequence[str] = ()

    @property
    def limit_s(self) -> float:
        """Past this the generator hangs: connecting, draining and a slow start included."""
        return self.duration_s * 1.5 + self.discard_s + 3 * min(self.timeout_s, 10) + 20


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a generator measured, in common terms. Latencies are microseconds.

    `service_us` maps `mean`, `p50`, `p99`, ... to a figure, or to None where too few requests
    support it. `errors` counts requests by class; they are in no rate. A figure that a generator
    does not tell is None, never a guess.
    """

    generator: str
    version: str
    rate_per_s: float
    requests_ok: int
    elapsed_s: float
    errors: Mapping[str, int]
    service_us: Mapping[str, float | None]
    response_us: Mapping[str, float | None] = field(default_factory=dict)  # open loop only
    first_byte_us: Mapping[str, float | None] = field(default_factory=dict)
    histograms: Mapping[str, str] = field(default_factory=dict)  # name -> HdrHistogram V2 base64
    series: Sequence[Mapping[str, Any]] = ()
    requests_sent_in_all: int | None = None  # the discarded ones included
    connections_established: int | None = None
    connections_served: int | None = None
    jain_fairness: float | None = None
    busiest_thread_share: float | None = None
    run_wait_share: float | None = None  # of the client's time, waiting for a CPU
    little_law_error: float | None = None  # closed loop: rate x time in the loop / connections - 1
    client_cpu_s: float | None = None
    offered_rate_per_s: float | None = None
    client_lag_us_p99: float | None = None
    limits: Sequence[Mapping[str, Any]] = ()
    bytes_in: int | None = None

    @property
    def errors_total(self) -> int:
        return sum(self.errors.values())


class Generator(Protocol):
    """One load generator: a file of its own beside this one."""

    @property
    def name(self) -> str: ...

    def version_command(self) -> list[str]:
        """Prints the version."""

    def version(self, completed: Completed) -> str:
        """The version out of what `version_command` printed."""

    def install_hint(self) -> str:
        """How to get it."""

    def command(self, spec: LoadSpec) -> list[str]:
        """The argument vector of a trial. Raises `DeadheatError` for what it cannot do."""

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        """Read what it printed. Raises `GeneratorFailed` with the last lines of its output."""
