"""What columns of JSON hold, as frozen values: how a server behaves, warmed up and ended, and what
a trial measured beside the columns of its row; and why a run ended.

A key that the writer did not know yet is None; `as_stored` leaves it out, and keeps keys that are
unknown here.
"""

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Self, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from deadheat.catalog import faults_text
from deadheat.catalog.manifest import Strict, answered_by
from deadheat.errors import StoreError
from deadheat.foreign_text import masked, without_secrets
from deadheat.inflate import parse
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import Decided
from deadheat.strict import JsonObject
from deadheat.workload import HELLO

Raw = TypeVar("Raw")
Value = TypeVar("Value")


def decoded(decode: Callable[[Raw], Value], raw: Raw, run_id: str, field_name: str) -> Value:
    """The decoded column. Raises `StoreError` that names the run and the field."""
    try:
        return decode(raw)
    except ValueError as error:
        raise StoreError(
            f"run {run_id}: {field_name} cannot be read: {error}",
            "the store or bundle is damaged, or was not written by deadheat",
        ) from error


def parsed(validate: Callable[[Any], Value], text: str, run_id: str, field_name: str) -> Value:
    """The column as a frozen value. Raises `StoreError`, also for what another version wrote."""
    values = decoded(parse, text, run_id, field_name)
    try:
        return validate(values)
    except ValueError as error:
        what = faults_text(error, values) if isinstance(error, ValidationError) else error
        raise StoreError(
            f"run {run_id}: {field_name} cannot be read: {what}",
            "the store or bundle is damaged, or another version of deadheat wrote it",
        ) from error


def words_of(text: str) -> tuple[str, ...]:
    """The words of a command, from its JSON. Raises `ValueError`."""
    words = parse(text)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("expected a list of words")
    return tuple(words)


def secrets_of(command: Sequence[str], protocol: Any) -> frozenset[str]:
    """The passwords in the command of a run and in the headers of its requests."""
    headers = [
        f"{name}: {value}"
        for request in _requests_of(protocol)
        if isinstance(request.get("headers"), dict)
        for name, value in request["headers"].items()
    ]
    return without_secrets(command)[1] | without_secrets(headers)[1]


def masked_protocol(values: Any, secrets: frozenset[str]) -> Any:
    """The JSON of a protocol with `***` for passwords in the headers and bodies of requests.

    Not elsewhere: a password may be any word, such as the name of a key.
    """
    if not secrets:
        return values
    text = json.loads(json.dumps(values))
    for request in _requests_of(text):
        if isinstance(request.get("headers"), dict):
            request["headers"] = {
                name: _masked_header(name, masked(str(value), secrets))
                for name, value in request["headers"].items()
            }
        if isinstance(request.get("body"), str):
            request["body"] = masked(request["body"], secrets)
    return text


def _masked_header(name: str, value: str) -> str:
    """A secret that is too short to look for elsewhere is hidden here, too."""
    ((shown,), _) = without_secrets([f"{name}: {value}"])
    return shown.removeprefix(f"{name}: ")


def _requests_of(protocol: Any) -> list[dict[str, Any]]:
    """The requests in the JSON of a protocol, which may be damaged."""
    workloads = protocol.get("workloads") if isinstance(protocol, dict) else None
    return [
        each
        for workload in (workloads if isinstance(workloads, list) else ())
        if isinstance(workload, dict) and isinstance(workload.get("requests"), list)
        for each in workload["requests"]
        if isinstance(each, dict)
    ]


def masked_command(words: Sequence[str], secrets: frozenset[str]) -> tuple[str, ...]:
    """A command with `***` for passwords, also for those in a JSON among its words."""
    within_json = {json.dumps(secret)[1:-1] for secret in secrets}
    return tuple(masked(word, secrets | within_json) for word in without_secrets(words)[0])


def masked_manifest(manifest: Any) -> Any:
    """What is kept of a contender, with `***` for passwords in its start command."""
    command = manifest.get("command") if isinstance(manifest, Mapping) else None
    if not isinstance(command, list):
        return manifest
    return {**manifest, "command": [*without_secrets([str(word) for word in command])[0]]}


Known = Annotated[float | None, Field(allow_inf_nan=False)]
Number = int | float | None
Numbers = Mapping[str, Number]
Counters = Mapping[str, int]


class StoredJson(BaseModel):
    """The base of these values."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def as_stored(self) -> JsonObject:
        return self.model_dump(exclude_unset=True)


def as_stored(value: object) -> object:
    return value.as_stored() if isinstance(value, StoredJson) else value


AsStored = Annotated[JsonObject, BeforeValidator(as_stored)]  # in a document


class StoredClaim(StoredJson):
    """The row of a published comparison that a server represents."""

    protocol: str
    row: str
    setting: str | None = None
    differs: tuple[str, ...] = ()


class StoredManifest(StoredJson):
    """What is kept of a contender: the manifest of a server of the catalog, or how the user's own
    server is started.
    """

    language: str | None = None  # None: not of the catalog
    framework: str | None = None
    kind: str | None = None
    homepage: str | None = None
    notes: tuple[str, ...] = ()
    verified: str | None = None
    recipe: str | None = None
    template_engine: str | None = None
    workloads: tuple[str, ...] = (HELLO,)
    published: tuple[StoredClaim, ...] = ()
    support: Any = None  # of a foreign bundle, anything

    @property
    def answered(self) -> tuple[str, ...]:
        return answered_by(self.workloads)


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
    tls: str | None = None  # version, cipher suite and key exchange
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
    allocated_bytes: Known = None
    """Of the heap, per request, as its garbage collector traced it; null if it did not."""
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


class Resumption(Strict):
    """The run went on after `paused_s`. The last three are those of an extension.

    `look` is the last look before, `share` what it spent of the error, and `until_s` when the
    extension of `more_s` ends, in the time of the race.
    """

    at: Annotated[AwareDatetime, Field(strict=False)]
    trials: int  # before it
    paused_s: float
    look: int | None = None
    more_s: float | None = None
    until_s: float | None = None
    share: float | None = None


class DecidedPair(Strict):
    """What an earlier look decided about two contenders at a level."""

    workload: str
    connections: int
    faster: str
    slower: str
    verdict: Annotated[Verdict, Field(strict=False)]


class Capacity(Strict):
    """`rate_per_s` is the highest rate that held, or 0; `above_per_s` the lowest that failed."""

    name: str
    rate_per_s: float
    above_per_s: float | None
    trials: int
    trouble: str | None


class BuildFacts(Strict):
    """Of a contender's build: the size of its folder, and the packages that lock files name."""

    size_bytes: int | None = None
    dependencies: int | None = None


class ImportedFrom(Strict):
    """When the run was imported, and the name of the bundle."""

    at: str
    bundle: str


class Conclusion(Strict):
    """All that is known of a run's end. A run under way has what is known from its start."""

    why: str | None = None
    share: float | None = None  # of the error, spent by its look; None: that was no declared one
    look: int | None = None
    race_s: float | None = None  # without builds, and without what was measured after the race
    decided: Annotated[tuple[DecidedPair, ...], Field(strict=False)] = ()  # by earlier looks
    resumed: Annotated[tuple[Resumption, ...], Field(strict=False)] = ()
    missing: dict[str, str] = Field(default={})  # published row -> why none ran
    remarks: Annotated[tuple[str, ...], Field(strict=False)] = ()  # how a replay was fitted
    slo: str | None = None  # of a search for capacity
    capacities: Annotated[tuple[Capacity, ...], Field(strict=False)] = ()
    imported: ImportedFrom | None = None
    folder: str | None = None  # where its command was given; a copy of the run does not have it
    builds: dict[str, BuildFacts] = Field(default={})  # by contender

    @property
    def share_of_error(self) -> float:
        """What the intervals may spend: all of it if no declared look was taken."""
        return 1.0 if self.share is None else self.share

    @property
    def extensions(self) -> tuple[Resumption, ...]:
        return tuple(each for each in self.resumed if each.more_s is not None)

    @property
    def paused_s(self) -> float:
        """How long the run was not under way before it was resumed, in all."""
        return sum(each.paused_s for each in self.resumed)

    @property
    def last_look(self) -> int | None:
        """The last look that the run or an earlier part of it took."""
        looks = (self.look, *(each.look for each in self.resumed))
        return max((look for look in looks if look is not None), default=None)

    def decided_at(self, workload: str, connections: int) -> Decided:
        """The verdicts of earlier looks at a level, which hold on."""
        return {
            (pair.faster, pair.slower): pair.verdict
            for pair in self.decided
            if (pair.workload, pair.connections) == (workload, connections)
        }

    def changed(self, **values: Any) -> Self:
        return self.model_copy(update=values)

    def without_end(self) -> Self:
        """What is left when the run is resumed."""
        return self.changed(why=None, share=None, look=None, race_s=None, decided=())

    def to_text(self) -> str:
        """As JSON, without what is not known."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True))
