"""`LoadProcess`: the resident load of one instance at one number of connections.

With several load hosts, a slice is one of several processes at the same time. Each loads and
discards until `GO`, and loads on after its window until `STOP`. `GO` goes out when all of them
load, `STOP` when all have measured. So every window lies within the time in which all of them
load, although no clocks are compared.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from deadheat.errors import DeadheatError
from deadheat.host import Host, ProcessSpec
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.base import shares
from deadheat.load.engine import GO, STOP, SliceRequest, read_point, read_ready, read_slice
from deadheat.load.pooling import merge_parts
from deadheat.measure.world import LoadSide, World

START_DEADLINE_S = 30.0  # preflight and connecting, of a server with a short accept queue too
SLACK_S = 5.0
STOP_DEADLINE_S = 2.0
HANG_UP_S = 0.01


@dataclass(frozen=True, slots=True)
class LoadPart:
    """One process of a load: its host, its id there, and its part of the load."""

    host: Host
    process: str
    spec: LoadSpec


@dataclass(frozen=True, slots=True, eq=False)
class LoadProcess:
    """Runs, with its connections open, and waits for a slice without using any CPU time.

    There is one part on each load host, or fewer at few connections. `command` is of the first.
    """

    spec: LoadSpec
    parts: tuple[LoadPart, ...]
    command: tuple[str, ...]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


def processes_on(host: Host, loads: Sequence[LoadProcess]) -> list[str]:
    """The ids of the load processes on one of the load hosts, each of them once."""
    parts = [part for load in loads for part in load.parts if part.host is host]
    return [*dict.fromkeys(part.process for part in parts)]


def open_load(world: World, spec: LoadSpec) -> LoadProcess:
    """Start it and wait until its connections are open. The server has to run meanwhile.

    Raises `DeadheatError` where it cannot start or the first request fails; nothing is left then.
    """
    workload = f"-{spec.workload['name']}" if spec.workload else ""
    log_name = f"load-{urlsplit(spec.url).port}-{spec.connections}{workload}.log"
    parts: list[LoadPart] = []
    try:
        for side, share in zip(world.loads, shares(spec, len(world.loads)), strict=False):
            parts.append(_open_part(side, share, log_name))
    except DeadheatError:
        for part in parts:
            part.host.stop(part.process, "SIGKILL", 0)
        raise
    return LoadProcess(spec, tuple(parts), tuple(first_command(world, spec)))


def first_command(world: World, spec: LoadSpec) -> list[str]:
    """The command of the load process on the first load host, with its part of the load."""
    return world.load.engine.slices_command(shares(spec, len(world.loads))[0])


def load_slice(world: World, load: LoadProcess, request: SliceRequest) -> LoadResult:
    """One slice on a thawed instance. Raises `DeadheatError` where there is no result by then.

    The deadline leaves room for connections that are never served: the engine gives them up after
    `timeout_s`, once before the measured part and once after it.
    """
    number = next(load.numbers)
    deadline_s = request.duration_s + request.discard_s + 3 * load.spec.timeout_s + SLACK_S
    if len(world.loads) == 1:
        (part,) = load.parts
        line = part.host.ask(part.process, request.line(number), deadline_s)
        return read_slice(line, number, world.engine_version)
    try:
        return slice_together(
            load.parts, request, number, deadline_s, world.engine_version, world.server_host.now_s
        )
    except DeadheatError:
        close_load(load)  # none may go on with its load
        raise


def slice_together(
    parts: Sequence[LoadPart],
    request: SliceRequest,
    number: int,
    deadline_s: float,
    version: str,
    now_s: Callable[[], float],
) -> LoadResult:
    """One slice of all parts. `now_s` is a clock of this machine.

    Raises `DeadheatError`; then parts may still load, so end their processes.
    """
    line = replace(request, together=True).line(number)

    def ask(part: LoadPart, said: str | None) -> str:
        return part.host.ask(part.process, said, deadline_s)

    def begin(part: LoadPart) -> tuple[float, float]:
        """When it was asked to measure, at the earliest, and when it did, at the latest."""
        sent_s = now_s()
        read_point(ask(part, GO), "going", number)
        return sent_s, now_s()

    with ThreadPoolExecutor(len(parts)) as pool:
        for waiting in pool.map(lambda part: ask(part, line), parts):
            read_point(waiting, "waiting", number)
        begun = list(pool.map(begin, parts))
        for measured in pool.map(lambda part: ask(part, None), parts):
            read_point(measured, "measured", number)
        answers = list(pool.map(lambda part: ask(part, STOP), parts))
    results = [read_slice(answer, number, version) for answer in answers]
    skew_s = max(latest_s for _, latest_s in begun) - min(sent_s for sent_s, _ in begun)
    return merge_parts([part.spec for part in parts], results, round(skew_s * 1e6, 1))


def load_once(world: World, spec: LoadSpec) -> LoadResult:
    """One load of our engine from all load hosts, by new processes. Raises `DeadheatError`."""
    if len(world.loads) == 1:
        side = world.load
        command = ProcessSpec(side.engine.command(spec), cpus=side.cpus)
        return side.engine.parse(spec, side.host.run(command, spec.limit_s), world.engine_version)
    load = open_load(world, spec)
    try:
        return load_slice(world, load, SliceRequest(spec.duration_s, spec.discard_s))
    finally:
        close_load(load)


def hang_up(world: World, load: LoadProcess) -> None:
    """Close its connections, with a short load. Raises `DeadheatError` as `load_slice` does.

    Idle connections occupy the workers of a server that has one for each connection.
    """
    load_slice(world, load, SliceRequest(HANG_UP_S, hang_up=True))


def close_load(load: LoadProcess) -> None:
    """End it; harmless where it has ended. Raises `DeadheatError` if every load host is lost.

    On a host that is lost, the agent ends it.
    """
    faults: list[DeadheatError] = []
    for part in load.parts:
        try:
            part.host.stop(part.process, "SIGTERM", STOP_DEADLINE_S)
        except DeadheatError as error:
            faults.append(error)
    if len(faults) == len(load.parts):
        raise faults[0]


def _open_part(side: LoadSide, spec: LoadSpec, log_name: str) -> LoadPart:
    command = tuple(side.engine.slices_command(spec))
    process = side.host.converse(ProcessSpec(command, cpus=side.cpus), str(side.logs / log_name))
    try:
        read_ready(side.host.ask(process, None, START_DEADLINE_S + spec.timeout_s))
    except DeadheatError:
        side.host.stop(process, "SIGKILL", 0)
        raise
    return LoadPart(side.host, process, spec)
