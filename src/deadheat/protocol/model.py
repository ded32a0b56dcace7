"""What `protocols/NAME.toml` may say: what to measure, in one of four ways.

`kind` says which: a race in slices, a race at offered rates, servers that run alone, or a search
for a rate. Each has its own keys.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from deadheat.catalog.manifest import (
    HTTP,
    HTTP2,
    OVER_TLS,
    WEEK_S,
    Count,
    Name,
    Seconds,
    Strict,
    Text,
    Texts,
    Transport,
)
from deadheat.workload import HELLO, Level, Workload, over, parts_of

SCALE_MAX = 1000.0
STREAMS_MAX = 1000  # of a connection

Restart = Literal["never", "repetition", "level"]
Aggregate = Literal["median", "mean", "best"]
Workloads = Annotated[tuple[Workload, ...], Field(max_length=20, strict=False)]
MARGIN, CONFIDENCE = 0.03, 0.95
Margin = Annotated[float, Field(gt=0, lt=0.5)]
Confidence = Annotated[float, Field(gt=0.5, lt=1)]
Discard = Annotated[float, Field(ge=0, le=WEEK_S)]
RATE_MAX = 1e9
SHARE_TEXT = r"^(?:[1-9][0-9]?|0\.[0-9]*[1-9]|[1-9][0-9]?\.[0-9]+)%$"
# Requests/s, or a share of the rate of the slowest contender at full load: "10%".
OfferedRate = Annotated[float, Field(gt=0, le=RATE_MAX)] | Annotated[str, Field(pattern=SHARE_TEXT)]
RATE_DIGITS = 3  # of a rate that is a share


class Warmup(Strict):
    """What precedes the first counted trial of a started server."""

    kind: Literal["none", "fixed", "steady"]  # steady: until the windowed rate is flat
    duration_s: float = Field(default=0, ge=0, le=WEEK_S)  # fixed: how long
    window_s: Seconds = 0.1  # steady: one rate per window
    least_s: Seconds = 1.0  # steady: a flat stretch at least this long
    limit_s: Seconds = 10  # steady: give up, and say so, after this long


class Settle(Strict):
    """A race ends when every neighboring pair is decided, or when its budget is spent."""

    kind: Literal["settle"]
    question: Literal["order", "slower"] = "order"  # slower: is the second, of two?
    invocations: Count = 1  # instances of each contender, if the budget allows
    margin: Margin = MARGIN  # closer than this is equivalent
    confidence: Confidence = CONFIDENCE
    resolution: float = Field(default=0.03, gt=0, lt=1)  # and until this is detectable
    half_width: float = Field(default=0.1, gt=0)  # and until ratios are known so
    budget_s: Seconds = 300  # start to end, builds apart

    @property
    def time_limit_s(self) -> float:
        return self.budget_s


class Repetitions(Strict):
    """Every contender is measured so often."""

    kind: Literal["fixed"]
    repetitions: Count = 3


class Fixed(Repetitions):
    """A race ends when every contender has so many blocks, spread over so many instances."""

    invocations: Count = 1
    margin: Margin = MARGIN
    confidence: Confidence = CONFIDENCE

    @property
    def time_limit_s(self) -> float:
        return math.inf


class SliceRule(Strict):
    """How a race is cut into short loads, close together. The protocol has their duration."""

    shortest_s: float | None = Field(default=None, gt=0)  # where the budget is short
    discard_s: float = Field(default=0.01, ge=0.005, le=1)  # at least; and a cycle of connections
    asleep_discard_s: float = Field(default=0.06, ge=0, le=1)  # more, where idle CPUs sleep
    rounds: int = Field(default=8, ge=1, le=100)  # in a block
    control_every: int = Field(default=4, ge=1)  # the round of a block in which controls run
    renew: bool = True  # open new connections once per block
    renew_discard_s: float = Field(default=0.04, ge=0, le=5)  # after new connections
    group: int = Field(default=10, ge=2, le=100)  # contenders in a round: keep-alive timeouts
    starts_share: float = Field(default=0.4, gt=0, lt=1)  # of a contender's time: later starts

    @model_validator(mode="after")
    def _has_rounds_with_controls(self) -> Self:
        if self.control_every > self.rounds:
            raise ValueError("slices.control_every has to be at most slices.rounds")
        return self


class NamedContender(Strict):
    """A contender that the protocol names."""

    server: Name
    setting: Name = "default"
    workers: Count | None = None
    label: Text | None = None  # as published


class Origin(Strict):
    """`[origin]`: facts about the published comparison that are not settings."""

    figures: Name  # published/FIGURES.csv; manifests name it in [[published]]
    command: Text  # of the load generator, as published
    body: Text  # of the published response; all our servers send the same one
    client_host: Literal["same", "another"]
    port: int | None = Field(default=None, ge=1, le=65535)  # that the servers listened on
    server: Text  # the published machine under test
    client: Text | None = None  # the published load host, if it was another machine
    aggregate_stated: bool = True  # the page says which repetition it shows
    sysctl: dict[str, str] = Field(default={})  # settings of the published machines
    open_files: int | None = Field(default=None, ge=1, le=2**31 - 1)
    sources: Texts  # of these facts


class Recovery(Strict):
    """`[recovery]`: watch the server until it is idle, then probe until it is fast again."""

    idle_cpus: float = Field(default=0.05, gt=0)  # CPUs in use; a server that uses no more is idle
    watch_s: Seconds = 60  # longest watch after one trial
    probe_s: Seconds = 1  # duration of one probe
    rate_share: float = Field(default=0.9, gt=0, le=1)  # of the first trial's rate
    limit_s: Seconds = 120  # longest recovery; the series ends after it


class AnyProtocol(Strict):
    """What every protocol says."""

    name: Name
    about: Text
    threads: Count = 1  # of the generator
    connections: Annotated[tuple[Count, ...], Field(min_length=1, max_length=100, strict=False)]
    keep_alive: bool = True
    duration_s: Seconds  # of one trial, or of one slice, as counted
    timeout_s: Seconds = 5  # of one request
    awake: bool = False  # keep idle CPUs awake, where the machine allows it
    warmup: Warmup
    duration_scale: float = Field(default=1, gt=0, le=SCALE_MAX)  # the factor of each duration
    workloads: Workloads = ()  # (): hello
    transports: Annotated[tuple[Transport, ...], Field(min_length=1, strict=False)] = (HTTP,)
    streams: Annotated[int, Field(ge=1, le=STREAMS_MAX)] = 1  # concurrent requests of a connection
    tls_key: Literal["ecdsa", "rsa"] = "ecdsa"  # of the servers that deadheat starts

    @property
    def label(self) -> str:
        """The name with all that a reader must not overlook."""
        parts = [self.name]
        if self.duration_scale != 1:
            parts.append(f"scaled {self.duration_scale:g}")
        if (names := self.workload_names) != (HELLO,):
            parts.append(f"workload{'s' if len(names) > 1 else ''} {', '.join(names)}")
        if self.streams > 1:
            parts.append(f"{self.streams} streams")
        if self.tls_key != "ecdsa":
            parts.append("RSA keys")
        return ", ".join(parts)

    @property
    def workload_names(self) -> tuple[str, ...]:
        """The workloads in the order of the command line, each over all of its transports."""
        return tuple(over(name, each) for name in self.requested for each in self.transports)

    @property
    def requested(self) -> tuple[str, ...]:
        """The workloads without their transports."""
        return tuple(workload.name for workload in self.workloads) or (HELLO,)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Every number of connections of each workload."""
        return tuple(
            Level(name, connections)
            for name in self.workload_names
            for connections in self.connections
        )

    @property
    def levels_each(self) -> int:
        """The levels of a contender that answers each workload; it speaks one transport."""
        return len(self.levels) // len(self.transports)

    @property
    def main_level(self) -> Level:
        """The most connections of the first workload, which the live order and the ceiling show."""
        return Level(self.workload_names[0], max(self.connections))

    def only(self, workload: str) -> Self:
        """The protocol as if it had this workload alone, over this transport alone."""
        name, transport = parts_of(workload)
        own = tuple(each for each in self.workloads if each.name == name)
        changes: dict[str, object] = {"workloads": own, "transports": (transport,)}
        if any(workload.close for workload in own):
            changes["keep_alive"] = False
        if transport not in HTTP2 or "keep_alive" in changes:
            changes["streams"] = 1
        if transport not in OVER_TLS:
            changes["tls_key"] = "ecdsa"
        return self.model_copy(update=changes)

    def workload_named(self, name: str) -> Workload | None:
        """What is loaded for a workload; None for hello, which is a plain GET of the URL."""
        named = {workload.name: workload for workload in self.workloads}
        workload, _ = parts_of(name)
        return None if workload == HELLO else named[workload]

    @model_validator(mode="after")
    def _has_distinct_workloads(self) -> Self:
        names = self.requested
        if len(set(names)) < len(names):
            raise ValueError(f"workloads: expected different names, got {', '.join(names)}")
        if len(set(self.transports)) < len(self.transports):
            raise ValueError(
                f"transports: expected different ones, got {', '.join(self.transports)}"
            )
        if self.tls_key != "ecdsa" and not OVER_TLS.intersection(self.transports):
            raise ValueError(f"tls_key = {self.tls_key!r}: expected the transport https or h2")
        closes = bool(self.workloads) and all(each.close for each in self.workloads)
        if (closes or not self.keep_alive) and self.streams > 1:
            raise ValueError(f"streams = {self.streams}: a connection per request has one stream")
        if self.streams > 1 and not HTTP2.intersection(self.transports):
            raise ValueError(
                f"streams = {self.streams}: expected the transport h2 or h2c: HTTP/1.1 has one "
                "request at a time on a connection"
            )
        databases = [each.name for each in self.workloads if each.database is not None]
        if len(databases) > 1:
            raise ValueError(
                "workloads: expected at most one with a database, because DATABASE_URL names one: "
                f"got {', '.join(databases)}"
            )
        return self


class ByEngine(AnyProtocol):
    """What our engine loads, and no published comparison did."""

    generator: Literal["engine"] = "engine"
    aggregate: ClassVar[Aggregate] = "median"
    origin: ClassVar[None] = None
    recovery: ClassVar[None] = None
    restarts: ClassVar[Mapping[str, Restart]] = {}
    notes: ClassVar[tuple[str, ...]] = ()


class SliceProtocol(ByEngine):
    """A race in slices: all contenders are up, and one of them runs at a time."""

    kind: Literal["slices", "rate"]
    slices: SliceRule = SliceRule()
    stopping: Annotated[Settle | Fixed, Field(discriminator="kind")]
    at_once: Count | None = None  # contenders that are up; None: as many as memory holds
    controls: bool = True  # the null server, and with it the client's ceiling, in every block


class RateProtocol(SliceProtocol):
    """A race at common offered rates: what does this traffic cost, and how long does it wait?"""

    kind: Literal["rate"]
    rates: Annotated[tuple[OfferedRate, ...], Field(min_length=1, max_length=20, strict=False)]
    price_per_core_hour: float | None = Field(default=None, gt=0, le=RATE_MAX)
    stopping: Settle
    controls: bool = False

    @property
    def levels(self) -> tuple[Level, ...]:
        """Every offered rate of each workload and number of connections, if it is resolved."""
        rates = [rate for rate in self.rates if isinstance(rate, float)]
        return tuple(
            replace(level, offered_rate_per_s=r) for level in super().levels for r in rates
        )

    @property
    def levels_each(self) -> int:
        """Also before shares are resolved."""
        return len(self.requested) * len(self.connections) * len(self.rates)

    @property
    def is_resolved(self) -> bool:
        """Whether no rate is a share of one that is to be measured."""
        return all(isinstance(rate, float) for rate in self.rates)

    def resolved(self, slowest_per_s: float) -> Self:
        """Without shares: `slowest_per_s` is the rate of the slowest contender at full load."""
        rates = [
            float(f"{slowest_per_s * float(rate[:-1]) / 100:.{RATE_DIGITS}g}")
            if isinstance(rate, str)
            else rate
            for rate in self.rates
        ]
        return self.model_copy(update={"rates": tuple(dict.fromkeys(rates))})


class SearchProtocol(ByEngine):
    """A search for the highest offered rate that holds an objective, server by server."""

    kind: Literal["search"]
    discard_s: Discard = 0  # of each trial's beginning, not counted
    controls: ClassVar[bool] = False


class AloneProtocol(AnyProtocol):
    """One server after the other, as published comparisons did: each trial is one load."""

    kind: Literal["alone"]
    generator: Literal["engine", "wrk", "ab"] = "engine"
    arguments: Texts = ()  # passed on to the generator as they are
    request_cap: int | None = Field(default=None, ge=1, le=2**31 - 1)  # of ab alone
    discard_s: Discard = 0  # of each trial's beginning, not counted
    stopping: Repetitions
    order: Literal["random", "listed"] = "random"
    restart: Restart = "never"  # which trials of a server share a process
    restarts: dict[Text, Restart] = Field(default={})  # published row -> its own policy
    aggregate: Aggregate = "median"
    controls: bool = True  # the null server first, and with it the client's ceiling
    contenders: Annotated[tuple[NamedContender, ...], Field(strict=False)] = ()
    notes: Texts = ()
    origin: Origin | None = None  # of a replay
    recovery: Recovery | None = None  # after each trial
    idle_connections: Annotated[tuple[Count, ...], Field(max_length=10, strict=False)] = ()
    deviations: Texts = ()  # from the file, as asked for on the command line
    workloads: Annotated[tuple[Workload, ...], Field(max_length=1, strict=False)] = ()

    @property
    def label(self) -> str:
        """`replay of kzmake-2018, best of 5, scaled 0.1`, with the deviations of a replay."""
        label = super().label
        if self.origin is not None:
            _, *more = label.split(", ")
            repetitions = f"{self.aggregate} of {self.stopping.repetitions}"
            label = ", ".join([f"replay of {self.name}", repetitions, *more])
        return ", ".join([label, *self.deviations])

    @model_validator(mode="after")
    def _agrees_with_its_generator(self) -> Self:
        if self.request_cap is not None and self.generator != "ab":
            raise ValueError(f"request_cap needs generator = 'ab': {self.generator} has none")
        if self.workloads and self.generator != "engine":
            raise ValueError(
                f"workload {self.workload_names[0]} needs generator = 'engine': "
                f"{self.generator} does not compare answers with their requests"
            )
        if self.workloads and self.origin is not None:
            raise ValueError(f"workload {self.workload_names[0]}: a replay has its own request")
        if len(self.transports) > 1 or (self.origin and self.transports != (HTTP,)):
            raise ValueError(
                f"transports: {', '.join(self.transports)}: "
                + ("a replay has plain HTTP" if self.origin else "expected one: it is no race")
            )
        if self.generator != "engine" and HTTP2.intersection(self.transports):
            raise ValueError(f"HTTP/2 needs generator = 'engine': {self.generator} has none")
        if self.recovery is not None and (self.restart != "never" or len(self.connections) > 1):
            raise ValueError("recovery needs restart = 'never' and a single connection level")
        return self


class TrialProtocol(ByEngine):
    """A race of whole trials, as version 0.1 had it: stored runs are read, and none is run."""

    kind: Literal["trials"]
    discard_s: Discard = 0
    stopping: Annotated[Settle | Fixed, Field(discriminator="kind")]
    at_once: Count | None = None
    controls: bool = True


Protocol = SliceProtocol | RateProtocol | AloneProtocol | SearchProtocol
StoredProtocol = Protocol | TrialProtocol
KINDS: Mapping[str, type[SliceProtocol] | type[AloneProtocol] | type[SearchProtocol]] = {
    "slices": SliceProtocol,
    "rate": RateProtocol,
    "alone": AloneProtocol,
    "search": SearchProtocol,
}
STORED_KINDS: Mapping[str, type[StoredProtocol]] = {**KINDS, "trials": TrialProtocol}


def protocol_of(values: Mapping[str, Any]) -> StoredProtocol:
    """The protocol that a run stored, by its kind. Raises `ValueError`."""
    kind = values.get("kind") if isinstance(values, Mapping) else None
    if not isinstance(kind, str) or kind not in STORED_KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    return STORED_KINDS[kind].model_validate(values)
