"""What columns of JSON hold, as frozen values: how a server behaves, warmed up and ended, and what
a trial measured beside the columns of its row.

A key that the writer did not know yet is None; `as_stored` leaves it out, and keeps keys that are
unknown here.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Known = Annotated[float | None, Field(allow_inf_nan=False)]
Number = int | float | None
Numbers = Mapping[str, Number]
Counters = Mapping[str, int]


class StoredJson(BaseModel):
    """The base of these values."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def as_stored(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


def as_stored(value: object) -> object:
    return value.as_stored() if isinstance(value, StoredJson) else value


AsStored = Annotated[dict[str, Any], BeforeValidator(as_stored)]  # in a document


class Behavior(StoredJson):
    """How a server behaves. None: it gave no readable answer to that request."""

    status: int | None = None
    media_type: str | None = None
    body_bytes: int | None = None
    framing: str | None = None  # content-length, chunked, close
    head_bytes: int | None = None
    date: bool | None = None
    server_header: str | None = None
    keep_alive: bool | None = None  # the connection stays after a response
    close_honored: bool | None = None  # `Connection: close` closes it
    http_1_0: str | None = None  # closes, keeps, refuses
    head: str | None = None  # empty, body, refuses
    pipelined: int | None = None  # responses to two requests in one packet
    unknown_path: int | None = None  # its status
    fault: str | None = None  # the check that failed, of the three that decide
    workload_faults: Mapping[str, str] = Field(default={})  # how it answered workloads wrong


class IdleUsage(StoredJson):
    """What an instance used before its first load; `asked` and `held` are idle connections."""

    memory_bytes: Number = None
    socket_bytes: Number = None
    cache_bytes: Number = None
    processes: Number = None
    threads: Number = None
    asked: int = 0
    held: int = 0  # of those asked for: each was served once


class StoredFootprint(StoredJson):
    idle: IdleUsage
    connections: tuple[IdleUsage, ...] = ()

    def at(self, connections: int) -> IdleUsage:
        """With so many idle connections; empty if they were not tried."""
        rows = (each for each in self.connections if each.asked == connections)
        return next(rows, IdleUsage())


class WarmUp(StoredJson):
    """How an instance came to its steady state; see `deadheat.measure.warm_up.Warmed`."""

    kind: str | None = None
    windows_per_s: tuple[Number, ...] = ()
    window_s: float | None = None
    start: int | None = None  # the first steady window
    rate_per_s: Number = None
    trouble: str | None = None
    requests: Number = None
    witness_per_s: Number = None
    reason: str | None = None
    requests_needed: Number = None
    drift: Number = None
    later: Mapping[str, "WarmUp"] = Field(default={})  # on further workloads
    footprint: StoredFootprint | None = None


class StoredEnding(StoredJson):
    """How an instance ended."""

    how: str | None = None
    log_cut_bytes: int | None = None  # dropped from the middle of its log


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
    def of(cls, figures: object) -> Self | None:
        """What is known of a trial's figures; None if it has none."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadGroup:
    """Threads of one name that ran under load; `N` stands for a number in it."""

    __pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: str
    threads: int
    us_per_request: Annotated[float, Field(allow_inf_nan=False)]
    """The time that they ran, all together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What `deadheat explain` counted of a contender after its race."""

    __pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    rate_per_s: Known = None
    """Under load, without a tool beside it."""
    traced_rate_per_s: Known = None
    """While strace counted its system calls."""
    calls: dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None = None
    """System calls per request by name, the most first; null if they were not counted."""
    threads: tuple[ThreadGroup, ...] = ()
    """Those that ran most come first."""
    backlog: int | None = None
    """The longest backlog of its listening sockets."""
    left_out: tuple[str, ...] = ()
    """What was not counted, and why."""


class FoundSlowdown(StoredJson):
    """In how many races of `deadheat calibrate` a copy that was slowed down was found to be."""

    injected: float  # a share
    found: int
    races: int


class CalibrationResult(StoredJson):
    """What `deadheat calibrate` measured, as far as it is read again."""

    null_pairs: int | None = None
    false_difference_rate: float | None = None
    nominal: float = 0.05
    passed: bool = True
    minimum_detectable_effect: float | None = None
    slowdowns: tuple[FoundSlowdown, ...] = ()


class TrialResult(StoredJson):
    """What a trial measured, as far as it is read again. None: not measured, as in older runs."""

    service_us: Numbers = Field(default={})  # as the generator printed it
    response_us: Numbers = Field(default={})  # open loop only
    requests_sent_in_all: int | None = None
    connections_served: int | None = None
    busiest_thread_share: float | None = None
    too_short_to_gather_share: float | None = None
    bytes_in: int | None = None
    retransmits: int | None = None
    out_of_order: int | None = None
    longest_pause_us: float | None = None
    skew_us: float | None = None  # of several load hosts
    reached_per_s: float | None = None  # at an offered rate
    database_cpu_us_per_request: float | None = None
    per_request: Annotated[PerRequest | None, BeforeValidator(PerRequest.of)] = None
    explained: Explained | None = None
    network: Counters | None = None  # increases of the hosts' counters
    block_network: Counters | None = None  # those of a whole block of slices
    recovered_after_s: float | None = None  # this and the next: a recovery after a trial
    cpu_burnt_s: float | None = None
    burnt_for_s: float | None = None
    idle: bool | None = None
