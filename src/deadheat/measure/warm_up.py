"""Warm-up: load a fresh instance until it is steady, or say that it never was; and what is then
ready to be measured, a `WarmInstance`.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.load import Engine, LoadResult
from deadheat.measure.contender import Contender, Instance
from deadheat.measure.lifecycle import Workers
from deadheat.measure.load_process import LoadProcess, load_once
from deadheat.measure.trial import load_arguments, load_spec
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.stats.warmup.steady import read
from deadheat.stats.warmup.warm_rule import (
    ROUNDING_S,
    Compiler,
    Earlier,
    Reading,
    Rule,
    WarmVerdict,
    Windows,
)
from deadheat.strict import JsonObject
from deadheat.workload import Level

FIRST_CHUNK_S = 0.6  # of load before the first look at the windows
CHUNK_S, CHUNK_S_MAX = 0.2, 0.6  # before each later look, which costs 20 ms or more
KNOWN_CHUNK_S = 0.4  # the first one of a server that does not compile, after an earlier instance
CYCLES = 4.0  # of a connection in a chunk, at least: the windows of the first one do not count
RATE_WINDOWS = 4  # that the length of the next chunk is computed from
LOADED_MAX = 2.0  # times the budget of windows: the rest is the first cycle of each chunk
LIMIT_S = 10.0  # the protocol's default, which the rule's budgets belong to
WITNESS_S = 3.0  # of more load for an instance that pauses, so that its witness has several pauses
WITNESS_LEFT_S = 30.0  # of the budget; with less, there is no time for it
PAUSING = 0.05  # of the time

Load = Callable[[float], LoadResult]


@dataclass(frozen=True, slots=True)
class Warmed:
    """How an instance came to its steady state, window by window.

    `kind` is `flat`, `warm-up` or `slowdown`; `none` where it never became steady or the
    load failed, `unsought` where the protocol does not look. `start` is the first steady window.
    `trouble` says why it is not steady, or what noise may hide.
    `load_failed`: the load process gave no result.
    """

    kind: str
    windows_per_s: tuple[float, ...]
    window_s: float
    start: int | None
    rate_per_s: float  # at the end
    trouble: str | None
    requests: float = 0  # in all windows
    witness_per_s: float | None = None  # over all steady windows: a load without slices
    reading: Reading | None = None  # what a later instance of the contender learns from
    load_failed: bool = False

    def to_json(self) -> JsonObject:
        values = asdict(self)
        del values["reading"], values["load_failed"]
        if (reading := self.reading) is not None:
            values["reason"] = reading.reason
            for name in ("requests_needed", "drift"):
                number = getattr(reading, name)
                values[name] = None if math.isnan(number) else number
        return values


def warm(
    world: World,
    instance: Instance,
    protocol: Protocol,
    earlier: Earlier | None = None,
    load: Load | None = None,
    left_s: Callable[[], float] = lambda: math.inf,
    workload: str | None = None,
) -> Warmed:
    """Warm an instance at the protocol's most connections, with one workload: its first, or this.

    `earlier` is what the contender's earlier instances needed. `load` loads for so many seconds;
    without it, each chunk is a process of our own engine, also if another generator measures later.
    `left_s` is how much of the race's budget is left.
    """
    rule = protocol.warmup
    if rule.kind == "none":
        return Warmed("unsought", (), rule.window_s, None, 0.0, None)
    load = load or (lambda for_s: _engine_load(world, instance, protocol, for_s, workload))
    if rule.kind == "fixed":
        try:
            result = load(rule.duration_s)
        except DeadheatError as error:
            return Warmed("none", (), rule.window_s, None, 0.0, str(error), load_failed=True)
        counts, seconds = windows_of(result, rule.window_s)
        rates, trouble = _rates(counts, seconds), _failed_text(Counter(result.errors))
        return Warmed("unsought", rates, rule.window_s, None, _last(rates), trouble, sum(counts))
    compiled_s = _compiled_s(world, instance)
    kind = instance.contender.compiler if compiled_s is None else Compiler.TIERED
    steady_rule = Rule.of(kind)
    budget_s = steady_rule.budget_s * rule.limit_s / LIMIT_S
    return _UntilSteady(
        world=world,
        instance=instance,
        rule=replace(steady_rule, budget_s=budget_s),
        is_known=kind is Compiler.NONE and earlier is not None,
        window_s=rule.window_s,
        earlier=earlier,
        load=load,
        left_s=left_s,
        compiled_s=compiled_s,
    ).run()


def _compiled_s(world: World, instance: Instance) -> float | None:
    """Time that the threads of its compiler ran or waited for a CPU so far.

    None if it is not ours, or has none that can be seen.
    """
    return world.server_host.compiler_busy_s(instance.process) if instance.process else None


class _Stopped(Exception):
    """A warm-up ends without an answer; the text says why."""


@dataclass(slots=True)
class _UntilSteady:
    """Loads an instance in chunks until `rule` finds it steady, and keeps what they showed.

    `counts` and `seconds` are those of each window, `compiler_s` the time of its compiler.

    A server on one CPU shares it with its compiler: with 200 threads, Spring Boot is not warm after
    30 s of load. While it warms up, its compiler may use the other CPUs too. They send the load,
    and have time to spare as long as the server is slow. The server's other threads stay where they
    are. So its rate is what its own CPUs give, and a JVM does not count more of them.
    """

    world: World
    instance: Instance
    rule: Rule
    is_known: bool  # it does not compile, and an earlier instance was steady
    window_s: float
    earlier: Earlier | None
    load: Load
    left_s: Callable[[], float]
    compiled_s: float | None
    counts: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    compiler_s: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    paused_s: float = 0.0
    loaded_s: float = 0.0
    service_s: float = 0.0  # the mean of the last load

    def run(self) -> Warmed:
        try:
            reading = self._decided()
            if reading.steady and reading.pauses and self.left_s() > WITNESS_LEFT_S:
                self._load(WITNESS_S)
        except _Stopped as stopped:
            return self._not_steady(str(stopped))
        except DeadheatError as error:
            return replace(self._not_steady(str(error)), load_failed=True)
        finally:
            self._place_compiler(everywhere=False)
        failed = _failed_text(self.errors)
        if failed and not sum(self.counts):  # errors at an even rate are no steady state
            return self._not_steady(f"no right answer: {failed}")
        if not reading.steady:
            return self._not_steady(reading.reason)
        counts, seconds = self.counts[reading.start :], self.seconds[reading.start :]
        return Warmed(
            kind=reading.kind,
            windows_per_s=_rates(self.counts, self.seconds),
            window_s=self.window_s,
            start=reading.start,
            rate_per_s=reading.rate_per_s,
            trouble=reading.caution or failed,
            requests=sum(self.counts),
            witness_per_s=sum(counts) / sum(seconds),
            reading=reading,
        )

    def _decided(self) -> Reading:
        """Raises `_Stopped` before the rule decides, if time is up."""
        while True:
            before_s = self.compiled_s
            new_windows = self._load(self._next_chunk_s())
            self.compiled_s = _compiled_s(self.world, self.instance)
            used_s = (self.compiled_s or 0.0) - (before_s or 0.0)
            self.compiler_s += [used_s / max(new_windows, 1)] * new_windows
            seen = self.compiled_s is not None
            windows = Windows.of(self.counts, self.seconds, self.compiler_s if seen else None)
            reading = read(windows, self.rule, self.earlier)
            if reading.verdict is not WarmVerdict.GO_ON:
                paused = self.paused_s > PAUSING * self.loaded_s
                paused |= self.earlier is not None and self.earlier.pauses
                return replace(reading, pauses=paused)

    def _next_chunk_s(self) -> float:
        if self.left_s() <= 0:
            raise _Stopped("the budget was spent during its warm-up")
        if self.loaded_s > LOADED_MAX * self.rule.budget_s:
            raise _Stopped(
                f"not steady within {self.loaded_s:.0f} s: a request takes {self.service_s:.2g} s"
            )
        if self.counts:
            missing = self.rule.floors(self.earlier)[0] - sum(self.counts)
            chunk_s = _chunk_s(missing, self.counts, self.seconds)
        else:
            chunk_s = KNOWN_CHUNK_S if self.is_known else FIRST_CHUNK_S
        return max(chunk_s, min(CYCLES * self.service_s, self.rule.budget_s))

    def _load(self, for_s: float) -> int:
        """Returns how many windows it adds."""
        self._place_compiler(everywhere=True)  # in each chunk: a JVM starts threads meanwhile
        result = self.load(for_s)
        counts, seconds = windows_of(result, self.window_s)
        self.counts += counts
        self.seconds += seconds
        self.errors.update(result.errors)
        self.paused_s += result.paused_s or 0.0
        self.loaded_s += result.sending_s
        self.service_s = _mean_service_s(result)
        return len(counts)

    def _place_compiler(self, everywhere: bool) -> None:
        """Let its present threads run on every CPU of the host, or on those of the server."""
        if self.compiled_s is not None:
            cpus = None if everywhere else self.world.server_cpus
            self.world.server_host.place_compiler(self.instance.process, cpus)

    def _not_steady(self, trouble: str) -> Warmed:
        rates = _rates(self.counts, self.seconds)
        return Warmed(
            kind="none",
            windows_per_s=rates,
            window_s=self.window_s,
            start=None,
            rate_per_s=_last(rates),
            trouble=trouble,
            requests=sum(self.counts),
        )


def _failed_text(errors: Counter[str]) -> str | None:
    """What failed in a warm-up: 12 requests failed during it (12 status); None without."""
    if not errors.total():
        return None
    classes = ", ".join(f"{count:,} {name}" for name, count in errors.most_common())
    requests = f"{errors.total():,} request{'' if errors.total() == 1 else 's'}"
    return f"{requests} failed during its warm-up ({classes})"


def _chunk_s(missing: float, counts: Sequence[float], seconds: Sequence[float]) -> float:
    """Seconds until `missing` requests are served, at the rate of the last windows, in bounds.

    Before that, no look can find the instance warm.
    """
    served, took_s = sum(counts[-RATE_WINDOWS:]), sum(seconds[-RATE_WINDOWS:])
    needed_s = missing * took_s / served if served else CHUNK_S
    return round(min(max(needed_s, CHUNK_S), CHUNK_S_MAX), 2)


def windows_of(result: LoadResult, window_s: float) -> tuple[list[float], list[float]]:
    """Right answers and seconds of successive windows, of `window_s` or a little more each.

    A request counts if it was sent in the measured part. So the answers of the drain, after it,
    stand for those at its beginning to requests that were sent before: they are spread over as much
    time at the beginning as the drain took. Where requests take longer than a window, answers come
    in bursts; there, each answer is spread over the time that its request took, and windows begin
    after one such time: before that, most requests in flight are older than the measured part.
    """
    service_s = _mean_service_s(result)
    takes_long = service_s > window_s
    rows = result.series
    answers = _over_their_requests(rows) if takes_long else [row["ok"] for row in rows]
    counts: list[float] = []
    seconds: list[float] = []
    begin_s, count, end_s = 0.0, 0.0, 0.0
    for row, answered in zip(rows, answers, strict=True):
        if row["at_s"] > result.sending_s + ROUNDING_S:
            break
        end_s = row["at_s"]
        count += answered
        if end_s - begin_s >= window_s * 0.95:
            if not takes_long or begin_s >= service_s:
                counts.append(count)
                seconds.append(end_s - begin_s)
            begin_s, count = end_s, 0.0
    if counts and end_s > begin_s:
        counts[-1] += count
        seconds[-1] += end_s - begin_s
    return counts if takes_long else _with_drain(counts, seconds, result), seconds


def _mean_service_s(result: LoadResult) -> float:
    """0 where the rows have no service times, as those of several load hosts."""
    rows = [row for row in result.series if row.get("service_us_mean")]
    answers = sum(row["ok"] for row in rows)
    return sum(row["ok"] * row["service_us_mean"] for row in rows) / 1e6 / answers if answers else 0


def _over_their_requests(series: Sequence[Mapping[str, Any]]) -> list[float]:
    """The right answers of each row, spread over the mean service time before its end."""
    ends = [row["at_s"] for row in series]
    begins = [0.0, *ends[:-1]]
    counts = [0.0] * len(series)
    for row, end_s in zip(series, ends, strict=True):
        sent_s = max(0.0, end_s - (row.get("service_us_mean") or 0.0) / 1e6)
        for place, (first_s, last_s) in enumerate(zip(begins, ends, strict=True)):
            overlap_s = min(last_s, end_s) - max(first_s, sent_s)
            if row["ok"] and overlap_s > 0:
                counts[place] += row["ok"] * overlap_s / (end_s - sent_s)
    return counts


def _with_drain(counts: list[float], seconds: list[float], result: LoadResult) -> list[float]:
    drain_s = result.series[-1]["at_s"] - result.sending_s if result.series else 0.0
    drained = result.requests_ok - sum(counts)
    if drain_s <= 0 or drained <= 0:
        return counts
    filled = []
    begin_s = 0.0
    for count, length_s in zip(counts, seconds, strict=True):
        overlap_s = max(0.0, min(begin_s + length_s, drain_s) - begin_s)
        filled.append(count + drained * overlap_s / drain_s)
        begin_s += length_s
    return filled


def _engine_load(
    world: World, instance: Instance, protocol: Protocol, duration_s: float, name: str | None
) -> LoadResult:
    spec = replace(
        load_spec(protocol, instance, max(protocol.connections), name),
        duration_s=duration_s,
        discard_s=0.0,
        request_cap=None,
        arguments=load_arguments(instance, Engine.name),
    )
    return load_once(world, spec)


def _rates(counts: Sequence[float], seconds: Sequence[float]) -> tuple[float, ...]:
    return tuple(count / length for count, length in zip(counts, seconds, strict=True))


def _last(windows: tuple[float, ...]) -> float:
    return statistics.median_high(windows[-5:]) if windows else 0.0


@dataclass(frozen=True, slots=True)
class EnteredContender:
    """A contender with its row in the store."""

    contender: Contender
    contender_id: int


@dataclass(frozen=True, slots=True)
class WarmInstance:
    """A verified, warm and frozen instance, with its row in the store.

    `loads` maps a level to the resident load process that keeps its connections open; it is empty
    where the protocol has no slices. A control has one process for all workloads. `took_s` is what
    starting and warming took. `warmed` is the warm-up on the first workload of a contender;
    `warmed_later` has those on the others, by workload.
    """

    entered: EnteredContender
    instance: Instance
    instance_id: int
    warmed: Warmed
    invocation: int = 1
    loads: Mapping[Level, LoadProcess] = field(default_factory=dict)
    took_s: float = 0.0
    workers: Workers | None = None  # None: it is not ours
    warmed_later: Mapping[str, Warmed] = field(default_factory=dict)
    database: str | None = None  # the process of the workload's database

    @property
    def name(self) -> str:
        return self.entered.contender.name

    def warmed_on(self, workload: str) -> Warmed:
        """Its warm-up on a workload."""
        return self.warmed_later.get(workload, self.warmed)
