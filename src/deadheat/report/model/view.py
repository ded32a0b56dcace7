"""`RunView`: one run as reports show it, in every format."""

import datetime
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

from deadheat.errors import DeadheatError
from deadheat.protocol import Repetitions, Settle, StoredProtocol
from deadheat.protocol.model import CONFIDENCE, MARGIN
from deadheat.report.model.evidence import (
    Build,
    Defect,
    LinkLosses,
    PublishedRow,
    RawOutput,
    RecoveryRecord,
)
from deadheat.report.model.series import Distribution, Series
from deadheat.report.model.sliced import SlicedLevel
from deadheat.store import Conclusion, Gate
from deadheat.store.json_columns import Explained, PerRequest
from deadheat.store.rows import StoredCalibration, StoredHost, StoredInstance
from deadheat.store.slices import StoredSlice
from deadheat.workload import HELLO

Aggregate = Literal["median", "mean", "best"]
AGGREGATES: Mapping[Aggregate, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "best": max,
}

Worked = TypeVar("Worked")


class Memo:
    """What was worked out of a value, by name, because each format asks for it."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def once(self, name: str, work_out: Callable[[], Worked]) -> Worked:
        if name not in self._values:
            self._values[name] = work_out()
        value: Worked = self._values[name]
        return value


@dataclass(frozen=True, slots=True)
class TrialView:
    """One trial: its figures, and the failed gates that make it invalid."""

    invocation: int
    block: int
    heat: int
    state: str
    reason: str | None
    rate_per_s: float | None
    requests_ok: int
    server_cpu_us_per_request: float | None
    memory_peak_bytes: int | None
    errors: Mapping[str, int]
    gates_failed: tuple[Gate, ...]
    at_s: float = 0.0  # since the run's start
    command: tuple[str, ...] = ()
    series: Series | None = None
    with_series: bool = True  # whether documents show its series and slices
    instance_id: int | None = None
    elapsed_s: float | None = None  # measured
    client_busy_share: float | None = None  # of the busiest client thread
    too_short_to_gather_share: float | None = None  # of the client's waits; of slices alone
    slices: Sequence[StoredSlice] = ()  # what a trial of slices is the sum of
    database_cpu_us_per_request: float | None = None  # of the workload's database
    per_request: PerRequest | None = None
    response_us_p99: float | None = None  # this and the next of a trial at a common rate
    reached_per_s: float | None = None

    @property
    def server_cpus_used(self) -> float | None:
        """CPUs that the server kept busy; None if its CPU time is unknown."""
        return cpus_used_of(self.rate_per_s, self.server_cpu_us_per_request)

    @property
    def database_cpus_used(self) -> float | None:
        """CPUs that the database kept busy; None without one."""
        return cpus_used_of(self.rate_per_s, self.database_cpu_us_per_request)

    @property
    def measured(self) -> bool:
        """Whether it ended with a rate. Its gates may have failed."""
        return self.state == "ok" and self.rate_per_s is not None and self.rate_per_s > 0

    @property
    def valid(self) -> bool:
        """Whether it may rank: it was measured, and no gate failed."""
        return self.measured and not self.gates_failed


@dataclass(frozen=True)
class Cell:
    """A contender at one level.

    Its figures are of its valid trials. If it has none, they are of all measured trials, and
    `doubtful` is true.
    """

    connections: int
    trials: tuple[TrialView, ...] = ()
    service: Distribution = field(default_factory=Distribution)
    first_byte: Distribution = field(default_factory=Distribution)
    handshake: Distribution = field(default_factory=Distribution)  # of TLS, one for each request
    model_rate_per_s: float | None = None  # of a race in slices: its ratios are the printed ones
    service_us_p99_by_start: tuple[float, ...] = ()  # where it is known; of several transports only

    @cached_property
    def valid(self) -> tuple[TrialView, ...]:
        return tuple(trial for trial in self.trials if trial.valid)

    @property
    def doubtful(self) -> bool:
        return not self.valid

    @cached_property
    def counted(self) -> tuple[TrialView, ...]:
        """The trials behind the figures."""
        return self.valid or tuple(trial for trial in self.trials if trial.measured)

    @cached_property
    def rates_per_s(self) -> tuple[float, ...]:
        return tuple(trial.rate_per_s for trial in self.counted if trial.rate_per_s is not None)

    def rate_per_s(self, aggregate: Aggregate) -> float | None:
        """The model's rate, else the `median`, `mean` or `best`; None if nothing was measured."""
        if self.model_rate_per_s is not None and aggregate == "median":
            return self.model_rate_per_s
        rates = self.rates_per_s
        return AGGREGATES[aggregate](rates) if rates else None

    @property
    def spread_per_s(self) -> tuple[float, float] | None:
        """The slowest and the fastest trial; None for fewer than two."""
        rates = self.rates_per_s
        return (min(rates), max(rates)) if len(rates) > 1 else None

    @cached_property
    def server_cpu_us_per_request(self) -> float | None:
        return _median([trial.server_cpu_us_per_request for trial in self.counted])

    @cached_property
    def server_cpus_used(self) -> float | None:
        """CPUs that the server kept busy, the median over trials."""
        return _median([trial.server_cpus_used for trial in self.counted])

    @cached_property
    def database_cpu_us_per_request(self) -> float | None:
        """CPU time of the workload's database; None without one."""
        return _median([trial.database_cpu_us_per_request for trial in self.counted])

    @cached_property
    def database_cpus_used(self) -> float | None:
        """CPUs that the database kept busy, the median over trials."""
        return _median([trial.database_cpus_used for trial in self.counted])

    @cached_property
    def per_request(self) -> PerRequest | None:
        """Medians over trials; user and system time add up to the CPU time."""
        return _per_request(self.counted, self.server_cpu_us_per_request)

    @property
    def memory_peak_bytes(self) -> int | None:
        """The highest of any trial, valid or not."""
        return _memory_peak_bytes(self.trials)

    @property
    def errors(self) -> Counter[str]:
        """Failed requests by class, over all trials."""
        total: Counter[str] = Counter()
        for trial in self.trials:
            if trial.errors:
                total.update(trial.errors)
        return total


@dataclass(frozen=True, slots=True)
class OfferedCell:
    """A contender under an offered rate (open loop): response time from the intended send time."""

    kind: str  # latency, or capacity in a search for the highest rate
    connections: int
    offered_rate_per_s: float
    achieved_rate_per_s: float | None
    trials: tuple[TrialView, ...]
    response: Distribution
    first_byte: Distribution = field(default_factory=Distribution)

    @property
    def trials_valid(self) -> int:
        return sum(trial.valid for trial in self.trials)

    @property
    def server_cpu_us_per_request(self) -> float | None:
        return _median([trial.server_cpu_us_per_request for trial in self.trials])

    @property
    def per_request(self) -> PerRequest | None:
        return _per_request(self.trials, self.server_cpu_us_per_request)


@dataclass(frozen=True)
class ContenderView:
    """What was measured: a server, a command or a URL at one setting."""

    name: str
    server: str
    setting: str
    label: str | None
    role: str
    workers: int
    threads: int
    version: str | None
    language: str | None
    framework: str | None
    kind: str | None
    fault: str | None
    starts: tuple[StoredInstance, ...]
    cells: Mapping[int, Cell]
    offered: tuple[OfferedCell, ...] = ()
    homepage: str | None = None
    notes: tuple[str, ...] = ()
    ended: Mapping[str, str] = field(default_factory=dict)  # lines without support when it ran
    published: tuple[PublishedRow, ...] = ()
    build: Build | None = None
    raw_output: RawOutput | None = None
    half_load_cpu_us_per_request: float | None = None  # of a server that may spin
    recoveries: tuple[RecoveryRecord, ...] = ()
    explained: Explained | None = None
    stacks: Mapping[str, int] = field(default_factory=dict)  # samples of perf by stack

    @cached_property
    def trials(self) -> tuple[TrialView, ...]:
        """Every trial, in closed and in open loop."""
        cells: tuple[Cell | OfferedCell, ...] = (*self.cells.values(), *self.offered)
        return tuple(trial for cell in cells for trial in cell.trials)

    @property
    def tls(self) -> str | None:
        """`TLS 1.3, TLS_AES_128_GCM_SHA256, X25519`; None without TLS, or if it is not known."""
        behaviors = [start.behavior for start in self.starts if start.behavior]
        return next((each.tls for each in behaviors if each.tls), None)

    @property
    def memory_peak_bytes(self) -> int | None:
        """The highest of any trial at any level."""
        return _memory_peak_bytes(self.trials)


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as a report shows it, with what it measured on one workload.

    A run of several workloads is shown like several runs of one: the view of the first has those
    of the others in `later`. `workloads` names what the whole run measured. `client_gates` has the
    failed `client_cpu` and `ceiling` of each contender that outran the client, by connections;
    these are not ranked by their rates there.
    """

    run_id: str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    state: str
    last_trial_at_s: float | None
    protocol: StoredProtocol
    command: tuple[str, ...]
    seed: int
    deadheat_version: str
    generator_version: str
    conclusion: Conclusion
    hosts: tuple[StoredHost, ...]
    levels: tuple[int, ...]
    contenders: tuple[ContenderView, ...]
    controls: tuple[ContenderView, ...]
    gates: tuple[str, ...] = ()  # codes of every gate that any trial was checked with
    calibration: StoredCalibration | None = None
    sliced: Mapping[int, SlicedLevel] = field(default_factory=dict)  # by connections
    client_gates: Mapping[int, Mapping[str, tuple[Gate, ...]]] = field(default_factory=dict)
    series_trials_max: int | None = None  # of a contender at a level; None: all
    skew_us_max: float | None = None  # of any trial; None: one load host
    defects: tuple[Defect, ...] | None = None  # of a replay; None if no audit was made
    workload: str = HELLO
    workloads: tuple[str, ...] = (HELLO,)
    later: tuple["RunView", ...] = ()
    link_losses: LinkLosses | None = None  # of the whole run; None on one machine
    kept: Memo = field(default_factory=Memo, init=False, compare=False, repr=False)

    def outran_client(self, name: str, connections: int) -> tuple[Gate, ...]:
        """The failed `client_cpu` and `ceiling` of a contender; none if it did not."""
        return self.client_gates.get(connections, {}).get(name, ())

    @property
    def by_workload(self) -> tuple["RunView", ...]:
        """A view for each workload, which shows that workload alone."""
        if not self.later:
            return (self,)
        return (self.kept.once("alone", self._alone), *self.later)

    def _alone(self) -> "RunView":
        protocol = self.protocol.only(self.workload)
        return replace(self, later=(), workloads=(self.workload,), protocol=protocol)

    @property
    def measured(self) -> int:
        """How many contenders have a trial in closed loop."""
        return self.kept.once("measured", lambda: sum(bool(c.cells) for c in self.contenders))

    def on(self, workload: str) -> "RunView":
        """What it measured on one workload. Raises `DeadheatError` if it has none of that name."""
        for view in self.by_workload:
            if view.workload == workload:
                return view
        raise DeadheatError(
            f"--workload {workload}: run {self.run_id} did not measure it",
            f"it measured {', '.join(self.workloads)}",
        )

    @property
    def aggregate(self) -> Aggregate:
        """How the rates of several trials become one."""
        return self.protocol.aggregate

    @property
    def settles(self) -> bool:
        """Whether it measures until the order is settled, not a fixed number of times."""
        return isinstance(self._stopping, Settle)

    @property
    def _stopping(self) -> Settle | Repetitions | None:
        """None for a search."""
        return getattr(self.protocol, "stopping", None)

    @property
    def budget_s(self) -> float | None:
        """Of a race that measures until the order is settled."""
        return getattr(self._stopping, "budget_s", None)

    @property
    def repetitions(self) -> int | None:
        """Of each contender, where that is fixed."""
        return getattr(self._stopping, "repetitions", None)

    @property
    def margin(self) -> float:
        """Closer than this is equivalent."""
        return getattr(self._stopping, "margin", MARGIN)

    @property
    def confidence(self) -> float:
        """At which all intervals of a table hold together."""
        return getattr(self._stopping, "confidence", CONFIDENCE)

    @property
    def server_cpus(self) -> int:
        """CPUs that the server was given; 0 if no host is known yet."""
        return max((len(host.cpus) for host in self.hosts if host.role == "server"), default=0)

    @property
    def elapsed_s(self) -> float | None:
        """Start to end without pauses; for a run that has not ended, start to its last trial."""
        if self.ended_at is None:
            return self.last_trial_at_s
        return (self.ended_at - self.started_at).total_seconds() - self.conclusion.paused_s

    @property
    def race_s(self) -> float | None:
        """The race alone, which the budget bounds: without builds, and what is measured after it.

        A run that was cut short, or in which nothing raced, has `elapsed_s` instead.
        """
        race_s = self.conclusion.race_s
        return self.elapsed_s if race_s is None else race_s

    @property
    def trials(self) -> int:
        """How many trials there are, in closed and in open loop, on all workloads."""
        own = sum(len(contender.trials) for contender in (*self.contenders, *self.controls))
        return own + sum(view.trials for view in self.later)

    @property
    def races(self) -> bool:
        """Whether it compares contenders in closed loop; a search for capacity does not."""
        offered = any(contender.offered for contender in self.contenders)
        return not offered or any(contender.cells for contender in self.contenders)


def cpus_used_of(rate_per_s: float | None, cpu_us_per_request: float | None) -> float | None:
    """CPUs that a server kept busy under load; None if its CPU time is unknown."""
    if rate_per_s is None or cpu_us_per_request is None:
        return None
    return rate_per_s * cpu_us_per_request / 1e6


def _memory_peak_bytes(trials: Sequence[TrialView]) -> int | None:
    peaks = [t.memory_peak_bytes for t in trials if t.memory_peak_bytes is not None]
    return max(peaks, default=None)


def _per_request(trials: Sequence[TrialView], cpu_us: float | None) -> PerRequest | None:
    parts = PerRequest.median_of([t.per_request for t in trials if t.per_request is not None])
    return parts.adding_up_to(cpu_us) if parts is not None else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
