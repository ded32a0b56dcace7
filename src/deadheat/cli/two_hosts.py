"""The world of two hosts: each has all of its CPUs and a load engine of this version."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace

from deadheat.cli.hosts import Hosts, host_of
from deadheat.cli.one_host import database_on, engine_on, local_world, logs_on
from deadheat.errors import DeadheatError
from deadheat.host import Limits, ProcessSpec
from deadheat.host.fingerprint import Interface, LinkSpeed
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.load import generator, generator_version
from deadheat.measure.lifecycle import is_taken
from deadheat.measure.link import measure_link
from deadheat.measure.world import Link, LoadSide, World, cpus_of_load

BOOT_ID_S = 10.0


def world_on(
    hosts: Hosts,
    generator_name: str,
    load_threads: int,
    crowded: bool = False,
    limits: Limits | None = None,
    isolate: bool = False,
    port: int | None = None,
    containers: bool = False,
) -> AbstractContextManager[World]:
    """The world of the command line's hosts: see `two_hosts` and `local_world`."""
    if hosts:
        return two_hosts(hosts, generator_name, load_threads, crowded, limits, port)
    return local_world(generator_name, load_threads, crowded, limits, isolate, containers)


@contextmanager
def two_hosts(
    hosts: Hosts,
    generator_name: str,
    load_threads: int,
    crowded: bool = False,
    limits: Limits | None = None,
    port: int | None = None,
) -> Iterator[World]:
    """The server host and the load hosts, of which one or more are reached by ssh.

    With `crowded`, load threads may share CPUs, as in a replay that was published with more.
    `port` is that of the published servers; None: each gets a free one.
    Raises `DeadheatError` before anything starts if a host cannot be reached or cannot work.
    """
    with ExitStack() as context:
        server = context.enter_context(host_of(hosts.server, limits))
        load, *more = (context.enter_context(host_of(name, limits)) for name in hosts.loads)
        if more and generator_name != "engine":
            raise DeadheatError(
                f"{generator_name} loads from one machine, and --load-host is given "
                f"{len(hosts.loads)} times",
                "name one load host, or use --generator engine",
            )
        server_logs = context.enter_context(logs_on(server))
        address = hosts.server_address(load)
        if port is not None and is_taken(server, port, address):
            raise DeadheatError(
                f"port {port} of {address} is taken: the published servers listened on it",
                f"end what listens there: ss -ltnp 'sport = :{port}'",
            )
        threads = 1 if crowded else load_threads
        sides = [context.enter_context(_side(host, threads)) for host in (load, *more)]
        engine = sides[0].engine
        chosen = engine if generator_name == "engine" else generator(generator_name)
        server_cpus = server.fingerprint().cpu.allowed
        database = context.enter_context(database_on(server, server_cpus, server_logs))
        world = World(
            server_host=server,
            server_cpus=tuple(server_cpus),
            loads=tuple(sides),
            generator=chosen,
            generator_version=generator_version(chosen, load),
            engine_version=generator_version(engine, load),
            server_engine=engine_on(server),
            logs=server_logs,
            database=database,
            server_address=address,
            port=port,
        )
        yield replace(world, link=_probed(world, server, load, more))


def _probed(
    world: World,
    server: LocalHost | SshHost,
    load: LocalHost | SshHost,
    more: Sequence[LocalHost | SshHost],
) -> Link:
    """The link as measured; the fingerprint of each host gets what it showed meanwhile."""
    ways = {server: load.local_address(world.server_address)}
    ways |= dict.fromkeys((load, *more), world.server_address)
    before = {host: host.interface_to(way) if way else None for host, way in ways.items()}
    link = measure_link(world)
    machines = [_boot_of(host) for host in ways]
    for host, way in ways.items():
        host.interface = Interface.of(before[host], host.interface_to(way) if way else None)
        if isinstance(host, SshHost):
            host.network = LinkSpeed(round_trip_us=link.round_trip_us, bytes_per_s=link.bytes_per_s)
            host.same_machine = len(set(machines)) < len(machines)
    return link


def _boot_of(host: LocalHost | SshHost) -> str:
    """The same for two hosts only if they are namespaces or containers of one machine."""
    done = host.run(ProcessSpec(("cat", "/proc/sys/kernel/random/boot_id")), BOOT_ID_S)
    return done.stdout.strip() or str(id(host))


@contextmanager
def _side(host: LocalHost | SshHost, load_threads: int) -> Iterator[LoadSide]:
    cpus = cpus_of_load(host.fingerprint(), load_threads)
    with logs_on(host) as logs:
        yield LoadSide(host, tuple(cpus), engine_on(host), logs)
