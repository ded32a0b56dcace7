"""What a server takes up: time to start, memory, build, dependencies, processes and threads."""

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.report.model.series import SHAPE, Finite
from deadheat.report.model.view import ContenderView, RunView
from deadheat.stats.distributions import t_critical
from deadheat.store.json_columns import IdleUsage, StoredFootprint
from deadheat.store.rows import StoredInstance

# Memory of runs before version 0.2, and of a host that counts by one of both ways since then.
ONE_MEANING = re.compile(r"anonymous and shared\b")
ROUNDING = 1e-9
HELD_SHARE_MIN = 0.99  # of idle connections: with fewer, memory is not that of so many


@dataclass(frozen=True, slots=True)
class MeanOfStarts:
    """The mean over starts, with its interval (Student's t); None for a single start."""

    __pydantic_config__ = SHAPE

    mean: Finite
    low: Finite | None
    high: Finite | None
    starts: int

    @classmethod
    def of(cls, values: Iterable[float | None], confidence: float) -> "MeanOfStarts | None":
        """None without a value."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        mean = statistics.fmean(known)
        if len(known) < 2:
            return cls(mean, None, None, len(known))
        error = statistics.stdev(known) / math.sqrt(len(known))
        half = float(t_critical((1 - confidence) / 2, len(known) - 1)) * error
        return cls(mean, mean - half, mean + half, len(known))

    def agrees(self, other: "MeanOfStarts") -> bool:
        """Whether the interval of the difference contains 0, from both intervals."""
        if None in (self.low, other.low):
            return True
        half = math.hypot(self.mean - (self.low or 0.0), other.mean - (other.low or 0.0))
        return abs(self.mean - other.mean) <= half + ROUNDING * abs(self.mean)


@dataclass(frozen=True, slots=True)
class IdleMemory:
    """Memory with so many idle connections, each of which was served once; None if they were not.

    `held` is the fewest of any start that were.
    """

    __pydantic_config__ = SHAPE

    connections: int
    held: int
    bytes: MeanOfStarts | None


@dataclass(frozen=True, slots=True)
class Footprint:
    """Of one contender. Memory is anonymous and shared memory of its processes, in bytes."""

    __pydantic_config__ = SHAPE

    ready_s: MeanOfStarts | None
    """From the start of the process to the first right answer."""
    idle_bytes: MeanOfStarts | None
    """After the first answers, before any load."""
    connections: tuple[IdleMemory, ...]
    bytes_per_connection: MeanOfStarts | None
    """From the fewest to the most idle connections."""
    peak_bytes: int | None
    """Under load: the most of all readings of all trials."""
    socket_bytes: int | None
    """Of the kernel for its sockets, with the most idle connections; null where nothing counts."""
    cache_bytes: int | None
    """Page cache, before any load; null where it is not counted."""
    processes: int | None
    threads: int | None
    build_bytes: int | None
    """All files of its build, without the runtime that builds share."""
    dependencies: int | None
    """Packages that its lock files name."""


def footprint(view: RunView, contender: ContenderView) -> Footprint | None:
    """None of a contender that never started."""
    starts = [start for start in contender.starts if start.ready_s is not None]
    if not starts:
        return None
    read = [reading for start in starts if (reading := _footprint_of(start)) is not None]
    idle = [reading.idle for reading in read]
    levels = sorted({each.asked for reading in read for each in reading.connections})
    held = {level: [reading.at(level) for reading in read] for level in levels}
    facts = view.conclusion.builds.get(contender.name)
    most = [reading.at(levels[-1]).socket_bytes for reading in read] if levels else []
    return Footprint(
        ready_s=MeanOfStarts.of([start.ready_s for start in starts], view.confidence),
        idle_bytes=MeanOfStarts.of([each.memory_bytes for each in idle], view.confidence),
        connections=tuple(_idle_memory(level, held[level], view) for level in levels),
        bytes_per_connection=MeanOfStarts.of(
            [_per_connection(reading, levels) for reading in read], view.confidence
        ),
        peak_bytes=contender.memory_peak_bytes,
        socket_bytes=_whole(most),
        cache_bytes=_whole([each.cache_bytes for each in idle]),
        processes=_whole([each.processes for each in idle]),
        threads=_whole([each.threads for each in idle]),
        build_bytes=facts.size_bytes if facts else None,
        dependencies=facts.dependencies if facts else None,
    )


def is_read(view: RunView) -> bool:
    """Whether the run read what contenders use before their first load."""
    return any(_footprint_of(start) for each in view.contenders for start in each.starts)


def is_asked(view: RunView) -> bool:
    """Whether the run is one of `deadheat footprint`: its rates are not what was asked for."""
    return bool(getattr(view.protocol, "idle_connections", ())) and is_read(view)


def footprint_answer(view: RunView) -> str | None:
    """The first sentence of a run of `deadheat footprint`; None for other runs."""
    if not is_asked(view):
        return None
    starts = max(len(each.starts) for each in view.contenders)
    servers = numbers.count(len(view.contenders), "server")
    return f"Footprint of {servers}, over {numbers.count(starts, 'start')} of each"


def memory_meaning(view: RunView) -> str | None:
    """What its figures of memory contain; None if the run does not say.

    Figures of different meanings are not compared.
    """
    sources = {host.fingerprint.memory_source for host in view.hosts if host.role == "server"}
    source = next(iter(sources)) if len(sources) == 1 else None
    return "anonymous and shared" if source and ONE_MEANING.match(source) else source


@dataclass(frozen=True, slots=True)
class FootprintChange:
    """One figure of a contender in two runs. `agree`: within the intervals of both."""

    name: str
    figure: str
    first: MeanOfStarts
    second: MeanOfStarts
    agree: bool


def footprint_changes(first: RunView, second: RunView) -> tuple[FootprintChange, ...]:
    """The figures with an interval that both runs have; memory of one meaning only."""
    if not is_read(first) or not is_read(second):
        return ()
    same = memory_meaning(first) == memory_meaning(second)
    others = {each.name: footprint(second, each) for each in second.contenders}
    changes = []
    for contender in first.contenders:
        before, after = footprint(first, contender), others.get(contender.name)
        if before is None or after is None:
            continue
        pairs = {"start, s": (before.ready_s, after.ready_s)}
        if same:
            pairs["idle, bytes"] = (before.idle_bytes, after.idle_bytes)
            pairs["connection, bytes"] = (before.bytes_per_connection, after.bytes_per_connection)
        changes += [
            FootprintChange(contender.name, figure, a, b, a.agrees(b))
            for figure, (a, b) in pairs.items()
            if a is not None and b is not None and a.low is not None and b.low is not None
        ]
    return tuple(changes)


def memory_refusal(first: RunView, second: RunView) -> str | None:
    """Why memory of two runs is not compared; None if it is."""
    before, after = (memory_meaning(view) or "unknown" for view in (first, second))
    if before == after:
        return None
    return (
        f"memory is not compared: its meaning is {before!r} in the first run, and {after!r} in the "
        "second"
    )


def _footprint_of(start: StoredInstance) -> StoredFootprint | None:
    return start.steady.footprint if start.steady else None


def _idle_memory(connections: int, rows: Sequence[IdleUsage], view: RunView) -> IdleMemory:
    values = [_memory_at(row, connections) for row in rows]
    spread = None if None in values else MeanOfStarts.of(values, view.confidence)
    return IdleMemory(connections, min(row.held for row in rows), spread)


def _memory_at(row: IdleUsage, connections: int) -> float | None:
    return row.memory_bytes if row.held >= HELD_SHARE_MIN * connections else None


def _per_connection(reading: StoredFootprint, levels: Sequence[int]) -> float | None:
    """Of one start, from the fewest to the most of the idle connections that it held."""
    memory = {level: _memory_at(reading.at(level), level) for level in levels}
    known = [(level, size) for level, size in memory.items() if size is not None]
    if len(known) < 2:
        return None
    (fewest, least), (most, largest) = known[0], known[-1]
    return (largest - least) / (most - fewest)


def _whole(values: Sequence[float | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known)) if known else None
