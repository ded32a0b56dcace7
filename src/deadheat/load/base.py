"""The interface of load generators: the load of one trial, its parts, and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypedDict

from deadheat.errors import DeadheatError
from deadheat.host import Completed
from deadheat.strict import JsonObject


class GeneratorMissing(DeadheatError):
    """The load generator is not installed on the load host."""


class GeneratorFailed(DeadheatError):
    """The load generator ran and printed no result."""


def no_result(name: str, completed: Completed) -> GeneratorFailed:
    """The error for output without a result; its hint is the last lines of the output."""
    return GeneratorFailed(
        f"{name} ended with {completed.exit_code} and printed no result",
        (completed.stderr or completed.stdout).strip()[-500:] or None,
    )


WHOLE_SHARE_MIN = 0.9  # of the duration; a generator that ended before it was interrupted


class EngineWorkload(TypedDict):
    """What `deadheat-load --workload` takes."""

    name: str
    draws: int
    seed: int
    variables: JsonObject
    requests: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """The load of one trial."""

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
    workload: EngineWorkload | None = None  # of the engine alone; None: GET the URL
    arguments: Sequence[str] = ()
    http2_streams: int | None = None  # concurrent requests on a connection; None: HTTP/1.1

    @property
    def in_flight(self) -> int:
        """The most requests at the same time."""
        return self.connections * (self.http2_streams or 1)

    @property
    def limit_s(self) -> float:
        """Time limit of the generator; includes connecting, draining and a slow start."""
        return self.duration_s * 1.5 + self.discard_s + 3 * min(self.timeout_s, 10) + 20


def ended_early(name: str, elapsed_s: float, spec: LoadSpec) -> GeneratorFailed:
    """The error for a generator that a signal ended before its time."""
    return GeneratorFailed(
        f"{name} was interrupted after {elapsed_s:.1f} s of {spec.duration_s:g} s",
        "a signal ended the load generator; the rest of the trial was not measured",
    )


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of any generator. Latencies are microseconds.

    `service_us` maps `mean`, `p50`, `p99`, ... to a figure, or to None if there are too few
    requests. `errors` counts failed requests by class; no rate includes them. A figure that the
    generator does not report is None.
    """

    generator: str
    version: str
    rate_per_s: float
    requests_ok: int
    elapsed_s: float  # what the rate is over
    errors: Mapping[str, int]
    service_us: Mapping[str, float | None]
    response_us: Mapping[str, float | None] = field(default_factory=dict)  # open loop only
    first_byte_us: Mapping[str, float | None] = field(default_factory=dict)
    histograms: Mapping[str, str] = field(default_factory=dict)  # name -> HdrHistogram V2 base64
    series: Sequence[Mapping[str, Any]] = ()
    requests_sent_in_all: int | None = None  # including the discarded ones
    connections_established: int | None = None
    connections_served: int | None = None
    jain_fairness: float | None = None
    busiest_thread_share: float | None = None
    run_wait_share: float | None = None  # of the client's time, spent waiting for a CPU
    little_law_error: float | None = None  # closed loop: rate x time in the loop / connections - 1
    client_cpu_s: float | None = None
    offered_rate_per_s: float | None = None
    client_lag_us_p99: float | None = None
    limits: Sequence[Mapping[str, Any]] = ()
    bytes_in: int | None = None
    retransmits: int | None = None  # TCP segments that the client sent again
    spurious_retransmits: int | None = None  # those of them that the server's kernel had already
    out_of_order: int | None = None  # segments of the server that came before an earlier one
    bytes_out: int | None = None
    packets_in: int | None = None  # TCP segments of the server, for all requests that were sent
    data_packets_in: int | None = None  # those of them with data
    packets_out: int | None = None
    window_s: float | None = None  # in which counted requests were sent; None: `elapsed_s`
    paused_s: float | None = None  # in stretches without any answer that no request explains
    longest_pause_us: float | None = None
    too_short_to_gather_share: float | None = None  # of the client's waits; docs/engine-document.md
    tls: str | None = None  # version, cipher suite and key exchange of its handshakes
    skew_us: float | None = None  # load hosts began at most this far apart; None: it was one

    @property
    def segments_lost(self) -> int | None:
        """Of this load's connections, at most: an early segment shows a loss, or was faster."""
        if self.retransmits is None:
            return None
        sent_in_vain = min(self.spurious_retransmits or 0, self.retransmits)
        return self.retransmits - sent_in_vain + (self.out_of_order or 0)

    @property
    def sending_s(self) -> float:
        """How long counted requests were sent."""
        return self.elapsed_s if self.window_s is None else self.window_s

    @property
    def errors_total(self) -> int:
        return sum(self.errors.values())

    @property
    def errors_text(self) -> str:
        """`1,200 connect_refused, 3 status`: failed requests by class, the most first."""
        by_count = sorted(self.errors.items(), key=lambda item: -item[1])
        return ", ".join(f"{count:,} {name}" for name, count in by_count if count)


class Generator(Protocol):
    """One load generator, in its own file."""

    @property
    def name(self) -> str: ...

    def version_command(self) -> list[str]:
        """The command that prints the version."""

    def version(self, completed: Completed) -> str:
        """The version in the output of `version_command`."""

    def install_hint(self) -> str:
        """The command that installs it."""

    def command(self, spec: LoadSpec) -> list[str]:
        """The command of a trial. Raises `DeadheatError` for load that it cannot send."""

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        """Parse its output. Raises `GeneratorFailed` with the last lines of it."""


def shares(spec: LoadSpec, count: int) -> list[LoadSpec]:
    """Equal parts of the connections, and of the request cap and the rate if given.

    The first parts have the rest of the connections. Fewer than `count` parts if there are fewer
    connections, because a part has at least one.
    """
    count = min(count, spec.connections)
    least, rest = divmod(spec.connections, count)
    return [
        replace(
            spec,
            connections=least + (number < rest),
            request_cap=spec.request_cap and spec.request_cap // count,
            rate_per_s=spec.rate_per_s and spec.rate_per_s / count,
            seed=spec.seed + number,
        )
        for number in range(count)
    ]
