"""What `protocols/NAME.toml` may say: what to measure, as data."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from deadheat.catalog.manifest import COUNT_MAX, WEEK_S, Count, Name, Seconds, Strict, Text, Texts
from deadheat.protocol.origin import Origin
from deadheat.protocol.recovery import Recovery
from deadheat.workload import HELLO, Level, Workload

SCALE_MAX = 1000.0

Restart = Literal["never", "repetition", "level"]


class Warmup(Strict):
    """What precedes the first counted trial of a started server."""

    kind: Literal["none", "fixed", "steady"]  # steady: until the windowed rate is flat
    duration_s: float = Field(default=0, ge=0, le=WEEK_S)  # fixed: how long
    window_s: Seconds = 0.1  # steady: one rate per window
    least_s: Seconds = 1.0  # steady: a flat stretch at least this long
    limit_s: Seconds = 10  # steady: give up, and say so, after this long


class Stopping(Strict):
    """When a campaign ends."""

    kind: Literal["fixed", "settle"]  # settle: when every neighbouring pair is decided
    question: Literal["order", "slower"] = "order"  # settle: slower: is the second, of two?
    repetitions: Count = 3  # fixed: blocks in all
    invocations: Count = 1  # fresh starts over which the blocks are spread
    blocks_min: int = Field(default=4, ge=2, le=COUNT_MAX)  # settle: per invocation, before a look
    margin: float = Field(default=0.03, gt=0, lt=0.5)  # settle: closer than this is equivalent
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    resolution: float = Field(default=0.03, gt=0, lt=1)  # slices: and until this is detectable
    half_width: float = Field(default=0.1, gt=0)  # slices: and until ratios are known so
    budget_s: Seconds = 300  # settle: start to end, builds apart

    @property
    def time_limit_s(self) -> float:
        """The budget; a fixed number of repetitions has none."""
        return self.budget_s if self.kind == "settle" else math.inf


class Slices(Strict):
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


class Entry(Strict):
    """A contender that the protocol names."""

    server: Name
    setting: Name = "default"
    workers: Count | None = None
    label: Text | None = None  # as published


class Protocol(Strict):
    """One file of `protocols/`."""

    name: Name
    about: Text
    generator: Literal["engine", "wrk", "ab"] = "engine"
    arguments: Texts = ()  # passed on to the generator as they are
    threads: Count = 1  # of the generator
    connections: Annotated[tuple[Count, ...], Field(min_length=1, max_length=100, strict=False)]
    keep_alive: bool = True
    duration_s: Seconds  # of one trial, or of one slice, as counted
    discard_s: float = Field(default=0, ge=0, le=WEEK_S)  # of each trial's beginning, not counted
    timeout_s: Seconds = 5  # of one request
    request_cap: int | None = Field(default=None, ge=1, le=2**31 - 1)  # of ab alone
    order: Literal["random", "listed"] = "random"
    residency: Literal["frozen", "alone"] = "frozen"  # frozen: all started, one running at a time
    at_once: Count | None = None  # frozen; None: as many as memory holds
    restart: Restart = "never"  # alone only: which trials of a server share a process
    restarts: dict[Text, Restart] = Field(default={})  # published row -> its own policy
    aggregate: Literal["median", "mean", "best"] = "median"
    awake: bool = False  # keep idle CPUs awake, where the machine allows it
    controls: bool = True  # the null server, and with it the client's ceiling, in every block
    warmup: Warmup
    stopping: Stopping
    slices: Slices | None = None  # None: a trial is one load, with new connections
    contenders: Annotated[tuple[Entry, ...], Field(strict=False)] = ()
    notes: Texts = ()
    origin: Origin | None = None  # of a replay
    recovery: Recovery | None = None  # alone only: after each trial
    duration_scale: float = Field(default=1, gt=0, le=SCALE_MAX)  # the factor of each duration
    deviations: Texts = ()  # from the file, as asked for on the command line
    workloads: Annotated[tuple[Workload, ...], Field(max_length=20, strict=False)] = ()  # (): hello

    @property
    def label(self) -> str:
        """The name with all that a reader must not overlook.

        `replay of kzmake-2018, best of 5, scaled 0.1`; that of a protocol that replays nothing
        begins with its name.
        """
        parts = [self.name]
        if self.origin is not None:
            repetitions = self.stopping.repetitions
            parts = [f"replay of {self.name}", f"{self.aggregate} of {repetitions}"]
        if self.duration_scale != 1:
            parts.append(f"scaled {self.duration_scale:g}")
        if (names := self.workload_names) != (HELLO,):
            parts.append(f"workload{'s' if len(names) > 1 else ''} {', '.join(names)}")
        return ", ".join([*parts, *self.deviations])

    @property
    def workload_names(self) -> tuple[str, ...]:
        """The workloads in the order of the command line."""
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
    def main_level(self) -> Level:
        """The most connections of the first workload, which the live order and the ceiling show."""
        return Level(self.workload_names[0], max(self.connections))

    def only(self, workload: str) -> Self:
        """The protocol as if it had this workload alone."""
        own = tuple(each for each in self.workloads if each.name == workload)
        return self.model_copy(update={"workloads": own})

    def workload_named(self, name: str) -> Workload | None:
        """What is loaded for a workload; None for hello, which is a plain GET of the URL."""
        named = {workload.name: workload for workload in self.workloads}
        return None if name == HELLO else named[name]

    @model_validator(mode="after")
    def _has_distinct_workloads(self) -> Self:
        names = self.workload_names
        if len(set(names)) < len(names):
            raise ValueError(f"workloads: expected different names, got {', '.join(names)}")
        databases = [each.name for each in self.workloads if each.database is not None]
        if len(databases) > 1:
            raise ValueError(
                "workloads: expected at most one with a database, because DATABASE_URL names one: "
                f"got {', '.join(databases)}"
            )
        if len(names) > 1 and self.residency == "alone":
            raise ValueError(
                "workloads: several need residency = 'frozen': a server that runs alone is "
                "measured with one"
            )
        return self

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.stopping.kind == "settle" and self.residency != "frozen":
            raise ValueError(
                "stopping.kind = 'settle' needs residency = 'frozen': "
                "its comparisons are paired block by block"
            )
        if self.aggregate == "best" and self.stopping.kind == "settle":
            raise ValueError("aggregate = 'best' is for replays: settle compares medians")
        if self.request_cap is not None and self.generator != "ab":
            raise ValueError(f"request_cap needs generator = 'ab': {self.generator} has none")
        if self.residency == "frozen":
            for name in ("restart", "restarts", "recovery"):
                if getattr(self, name) not in ("never", {}, None):
                    raise ValueError(f"{name} needs residency = 'alone'")
        elif self.stopping.invocations > 1:
            raise ValueError(
                "stopping.invocations needs residency = 'frozen': restart says when a server "
                "that runs alone is started anew"
            )
        if self.slices is not None and not (
            self.residency == "frozen" and self.generator == "engine"
        ):
            raise ValueError("slices need residency = 'frozen' and generator = 'engine'")
        if self.slices is not None and self.duration_s <= self.slices.discard_s:
            raise ValueError(
                f"duration_s = {self.duration_s:g} has to be more than slices.discard_s = "
                f"{self.slices.discard_s:g}: a slice has to outlast its start"
            )
        names = ", ".join(self.workload_names)
        if self.workloads and self.generator != "engine":
            raise ValueError(
                f"workload {names} needs generator = 'engine': "
                f"{self.generator} does not compare answers with their requests"
            )
        if self.workloads and self.origin is not None:
            raise ValueError(f"workload {names}: a replay has its own request")
        if self.recovery is not None and (self.restart != "never" or len(self.connections) > 1):
            raise ValueError("recovery needs restart = 'never' and a single connection level")
        return self
