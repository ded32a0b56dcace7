"""The world of two hosts: each has all of its CPUs and a load engine of this version."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from deadheat.build.leftovers import in_use
from deadheat.cli.hosts import Hosts, host_of
from deadheat.cli.workbench import DISK_FREE_BYTES_MIN, local_world
from deadheat.errors import DeadheatError
from deadheat.host import Limits
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.load import Engine, generator, generator_version
from deadheat.load.far_engine import send_engine
from deadheat.measure.link import Link
from deadheat.measure.link_interface import LinkInterface
from deadheat.measure.link_probe import measure_link
from deadheat.measure.world import World, cpus_of_load
from deadheat.protocol import Protocol
from deadheat.store import home


def world_on(
    hosts: Hosts,
    generator_name: str,
    load_threads: int,
    crowded: bool = False,
    limits: Limits | None = None,
    isolate: bool = False,
) -> AbstractContextManager[World]:
    """The world of the command line's hosts: see `two_hosts` and `local_world`."""
    if hosts:
        return two_hosts(hosts, generator_name, load_threads, crowded, limits)
    return local_world(generator_name, load_threads, crowded, limits, isolate)


def require_no_database(hosts: Hosts, protocol: Protocol) -> None:
    """Raises `DeadheatError` for a workload with a database, which runs on one machine only."""
    for name in protocol.workload_names if hosts else ():
        workload = protocol.workload_named(name)
        if workload is not None and workload.database is not None:
            raise DeadheatError(
                f"--workload {name}: its database runs on one machine only",
                "omit it, or omit --server-host and --load-host",
            )


@contextmanager
def two_hosts(
    hosts: Hosts,
    generator_name: str,
    load_threads: int,
    crowded: bool = False,
    limits: Limits | None = None,
) -> Iterator[World]:
    """The server host and the load host, of which one or both are reached by ssh.

    With `crowded`, load threads may share CPUs, as in a replay that was published with more.
    Raises `DeadheatError` before anything starts if a host cannot be reached or cannot work.
    """
    with ExitStack() as context:
        server = context.enter_context(host_of(hosts.server, limits))
        load = context.enter_context(host_of(hosts.load, limits))
        for host in (server, load):
            if isinstance(host, SshHost):
                host.require_room(DISK_FREE_BYTES_MIN)
        address = hosts.server_address(load)
        server_engine, load_engine = (_engine_on(host) for host in (server, load))
        chosen = load_engine if generator_name == "engine" else generator(generator_name)
        logs: Path = home() / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        context.enter_context(in_use(logs))
        load_cpus = cpus_of_load(load.fingerprint(), 1 if crowded else load_threads)
        world = World(
            server_host=server,
            load_host=load,
            server_cpus=tuple(server.fingerprint()["cpu"]["allowed"]),
            load_cpus=tuple(load_cpus),
            generator=chosen,
            generator_version=generator_version(chosen, load),
            engine=load_engine,
            engine_version=generator_version(load_engine, load),
            logs=_logs_on(server, logs),
            server_address=address,
            load_logs=_logs_on(load, logs),
            null_server_engine=server_engine,
        )
        yield replace(world, link=_probed(world, server, load))


def _probed(world: World, server: LocalHost | SshHost, load: LocalHost | SshHost) -> Link:
    """The link as measured; the fingerprint of each host gets what it showed meanwhile."""
    ways = {server: load.local_address(world.server_address), load: world.server_address}
    before = {host: host.interface_to(way) if way else None for host, way in ways.items()}
    link = measure_link(world)
    for host, way in ways.items():
        interface = LinkInterface.of(before[host], host.interface_to(way) if way else None)
        if interface is not None:
            host.interface = asdict(interface)
        if isinstance(host, SshHost):
            host.network = asdict(link)
    return link


def _engine_on(host: LocalHost | SshHost) -> Engine:
    return send_engine(host) if isinstance(host, SshHost) else Engine()


def _logs_on(host: LocalHost | SshHost, here: Path) -> Path:
    return Path(host.scratch_folder()) if isinstance(host, SshHost) else here
