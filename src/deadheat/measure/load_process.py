"""`LoadProcess`: the resident load of one instance at one number of connections."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from deadheat.errors import DeadheatError
from deadheat.host import Host, ProcessSpec
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.shares import shares
from deadheat.load.slices import SliceRequest, read_ready, read_slice
from deadheat.measure.together import LoadPart, slice_together
from deadheat.measure.world import LoadSide, World

START_DEADLINE_S = 30.0  # preflight and connecting, of a server with a short accept queue too
SLACK_S = 5.0
STOP_DEADLINE_S = 2.0
HANG_UP_S = 0.01


@dataclass(frozen=True, slots=True)
class LoadProcess:
    """Runs, with its connections open, and waits for a slice without using any CPU time.

    With several load hosts there is one process on each; `process` and `command` are of the first,
    and `parts` has all of them.
    """

    process: str
    spec: LoadSpec
    command: tuple[str, ...]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    parts: tuple[LoadPart, ...] = ()  # empty: one load host


def processes_on(host: Host, loads: Sequence[LoadProcess]) -> list[str]:
    """The ids of the load processes on one of the load hosts, each of them once."""
    parts = [part for load in loads for part in load.parts if part.host is host]
    alone = [load.process for load in loads if not load.parts]
    return [*dict.fromkeys([*alone, *(part.process for part in parts)])]


def open_load(world: World, spec: LoadSpec) -> LoadProcess:
    """Start it and wait until its connections are open. The server has to run meanwhile.

    Raises `DeadheatError` where it cannot start or the first request fails; nothing is left then.
    """
    workload = f"-{spec.workload['name']}" if spec.workload else ""
    log_name = f"load-{urlsplit(spec.url).port}-{spec.connections}{workload}.log"
    sides = world.loads
    specs = shares(spec, len(sides)) if world.more_loads else [spec]
    parts: list[LoadPart] = []
    try:
        for side, share in zip(sides, specs, strict=False):  # no share for each at few connections
            parts.append(_open_part(side, share, log_name))
    except DeadheatError:
        for part in parts:
            part.host.stop(part.process, "SIGKILL", 0)
        raise
    command = tuple(first_command(world, spec))
    several = tuple(parts) if world.more_loads else ()
    return LoadProcess(parts[0].process, spec, command, parts=several)


def load_slice(world: World, load: LoadProcess, request: SliceRequest) -> LoadResult:
    """One slice on a thawed instance. Raises `DeadheatError` where there is no result by then.

    The deadline leaves room for connections that are never served: the engine gives them up after
    `timeout_s`, once before the measured part and once after it.
    """
    number = next(load.numbers)
    deadline_s = request.duration_s + request.discard_s + 3 * load.spec.timeout_s + SLACK_S
    if not load.parts:
        line = world.load_host.ask(load.process, request.line(number), deadline_s)
        return read_slice(line, number, world.engine_version)
    try:
        return slice_together(
            load.parts, request, number, deadline_s, world.engine_version, world.server_host.now_s
        )
    except DeadheatError:
        close_load(world, load)  # none may go on with its load
        raise


def first_command(world: World, spec: LoadSpec) -> list[str]:
    """The command of the load process on the first load host, with its part of the load."""
    return world.engine.slices_command(shares(spec, len(world.loads))[0])


def load_once(world: World, spec: LoadSpec) -> LoadResult:
    """One load from all load hosts, by new processes. Raises `DeadheatError`."""
    load = open_load(world, spec)
    try:
        return load_slice(world, load, SliceRequest(spec.duration_s, spec.discard_s))
    finally:
        close_load(world, load)


def hang_up(world: World, load: LoadProcess) -> None:
    """Close its connections, with a short load. Raises `DeadheatError` as `load_slice` does.

    Idle connections occupy the workers of a server that has one for each connection.
    """
    load_slice(world, load, SliceRequest(HANG_UP_S, hang_up=True))


def close_load(world: World, load: LoadProcess) -> None:
    """End it; harmless where it has ended."""
    if not load.parts:
        world.load_host.stop(load.process, "SIGTERM", STOP_DEADLINE_S)
    for part in load.parts:
        with suppress(DeadheatError):  # of a host that is lost, the agent ends it
            part.host.stop(part.process, "SIGTERM", STOP_DEADLINE_S)


def _open_part(side: LoadSide, spec: LoadSpec, log_name: str) -> LoadPart:
    command = tuple(side.engine.slices_command(spec))
    process = side.host.converse(ProcessSpec(command, cpus=side.cpus), str(side.logs / log_name))
    try:
        read_ready(side.host.ask(process, None, START_DEADLINE_S + spec.timeout_s))
    except DeadheatError:
        side.host.stop(process, "SIGKILL", 0)
        raise
    return LoadPart(side.host, process, spec)
