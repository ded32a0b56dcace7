"""`LoadProcess`: the resident load process of one instance at one number of connections."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from deadheat.errors import DeadheatError
from deadheat.host import ProcessSpec
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.slices import SliceRequest, read_ready, read_slice
from deadheat.measure.lifecycle import Instance
from deadheat.measure.world import World

START_DEADLINE_S = 30.0  # preflight and connecting, of a server with a short accept queue too
SLACK_S = 5.0
STOP_DEADLINE_S = 2.0
HANG_UP_S = 0.01


@dataclass(frozen=True, slots=True)
class LoadProcess:
    """Runs, with its connections open, and waits for a slice without using any CPU time."""

    process: str
    spec: LoadSpec
    command: tuple[str, ...]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


def open_load(world: World, instance: Instance, spec: LoadSpec) -> LoadProcess:
    """Start it and wait until its connections are open. The server has to run meanwhile.

    Raises `DeadheatError` where it cannot start or the first request fails; nothing is left then.
    """
    host = world.load_host
    command = tuple(world.engine.slices_command(spec))
    workload = f"-{spec.workload['name']}" if spec.workload else ""
    log_name = f"load-{instance.port}-{spec.connections}{workload}.log"
    log_path = str((world.load_logs or world.logs) / log_name)
    process = host.converse(ProcessSpec(command, cpus=world.load_cpus), log_path)
    try:
        read_ready(host.ask(process, None, START_DEADLINE_S + spec.timeout_s))
    except DeadheatError:
        host.stop(process, "SIGKILL", 0)
        raise
    return LoadProcess(process, spec, command)


def load_slice(world: World, load: LoadProcess, request: SliceRequest) -> LoadResult:
    """One slice on a thawed instance. Raises `DeadheatError` where there is no result by then.

    The deadline leaves room for connections that are never served: the engine gives them up after
    `timeout_s`, once before the measured part and once after it.
    """
    number = next(load.numbers)
    deadline_s = request.duration_s + request.discard_s + 3 * load.spec.timeout_s + SLACK_S
    line = world.load_host.ask(load.process, request.line(number), deadline_s)
    return read_slice(line, number, world.engine_version)


def hang_up(world: World, load: LoadProcess) -> None:
    """Close its connections, with a short load. Raises `DeadheatError` as `load_slice` does.

    Idle connections occupy the workers of a server that has one for each connection.
    """
    load_slice(world, load, SliceRequest(HANG_UP_S, hang_up=True))


def close_load(world: World, load: LoadProcess) -> None:
    """End it; harmless where it has ended."""
    world.load_host.stop(load.process, "SIGTERM", STOP_DEADLINE_S)
