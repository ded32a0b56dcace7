"""Warming: load a fresh server until its windowed rate is steady, or say that it never was."""

from dataclasses import asdict, dataclass
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.host import ProcessSpec
from deadheat.load import LoadSpec
from deadheat.measure.lifecycle import Instance
from deadheat.measure.trial import unread
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.stats.steady import classify

SLOW_START_FACTOR = 3


@dataclass(frozen=True, slots=True)
class Warmed:
    """How a server came to its steady state, window by window."""

    kind: str  # flat, warm-up, slowdown, none; unsought where the protocol does not look
    windows_per_s: tuple[float, ...]
    window_s: float
    start: int | None  # the window from which on it is steady
    rate_per_s: float  # at the end
    trouble: str | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def warm(world: World, instance: Instance, protocol: Protocol) -> Warmed:
    """Warm at the protocol's highest level with our own engine, whatever measures later."""
    rule = protocol.warmup
    if rule.kind == "none":
        return Warmed("unsought", (), rule.window_s, None, 0.0, None)
    if rule.kind == "fixed":
        loaded = _load(world, instance, protocol, rule.duration_s)
        return Warmed("unsought", loaded, rule.window_s, None, _last(loaded), None)
    limit_s = rule.limit_s * (SLOW_START_FACTOR if instance.contender.slow_start else 1)
    chunk_s = rule.least_s
    asked = 2 * round(rule.least_s / rule.window_s)  # at least half of it has to be level
    windows: tuple[float, ...] = ()
    reason = "never loaded"
    try:
        while len(windows) * rule.window_s < limit_s:
            windows += _load(world, instance, protocol, chunk_s)
            found = classify(windows, asked)
            if found.found and found.rate > 0:
                return Warmed(found.kind, windows, rule.window_s, found.start, found.rate, None)
            reason = found.reason if found.rate > 0 else "not one right answer"
            chunk_s = rule.least_s / 2
    except DeadheatError as error:
        return Warmed("none", windows, rule.window_s, None, _last(windows), str(error))
    trouble = f"no steady state within {limit_s:g} s of load: {reason}"
    return Warmed("none", windows, rule.window_s, None, _last(windows), trouble)


def _load(
    world: World, instance: Instance, protocol: Protocol, duration_s: float
) -> tuple[float, ...]:
    """Requests/s in each 100 ms window of a stretch of load."""
    spec = LoadSpec(
        url=instance.url,
        connections=max(protocol.connections),
        duration_s=duration_s,
        threads=protocol.threads,
        timeout_s=protocol.timeout_s,
        keep_alive=protocol.keep_alive,
        arguments=unread(instance.contender, world.engine.name),
    )
    done = world.load_host.run(
        ProcessSpec(world.engine.command(spec), cpus=world.load_cpus), spec.limit_s
    )
    result = world.engine.parse(spec, done, world.engine_version)
    rows = list(result.series)
    ends_s = [0.0, *(row["at_s"] for row in rows)]
    return tuple(
        row["ok"] / (end - begin)
        for row, begin, end in zip(rows, ends_s, ends_s[1:], strict=False)
        if end - begin > protocol.warmup.window_s / 2
    )


def _last(windows: tuple[float, ...]) -> float:
    tail = sorted(windows[-5:])
    return tail[len(tail) // 2] if tail else 0.0
