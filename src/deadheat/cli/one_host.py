"""The world of one machine, this one or another: servers and load on disjoint CPUs."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from deadheat.build.leftovers import in_use
from deadheat.cli.workbench import DISK_FREE_BYTES_MIN, make_room
from deadheat.host import HostError, Limits
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.load import Engine, generator, generator_version
from deadheat.load.engine import send_engine
from deadheat.measure.database import Database
from deadheat.measure.world import LoadSide, World, split_cpus
from deadheat.store import home


@contextmanager
def local_world(
    generator_name: str,
    load_threads: int,
    crowded: bool = False,
    limits: Limits | None = None,
    isolate: bool = False,
    containers: bool = False,
) -> Iterator[World]:
    """This machine as server host and load host.

    `crowded`: see `split_cpus`; `limits` and `isolate`: see `LocalHost`. `containers`: servers run
    in containers, which a PID namespace of ours would hide from their runtime.
    """
    with (
        _local_host(limits, isolate, containers) as host,
        one_host(host, generator_name, load_threads, crowded) as world,
    ):
        yield world


@contextmanager
def one_host(
    host: LocalHost | SshHost, generator_name: str, load_threads: int, crowded: bool = False
) -> Iterator[World]:
    """A machine as server host and load host; `crowded`: see `split_cpus`."""
    server_cpus, load_cpus = split_cpus(host.fingerprint(), load_threads, crowded)
    with logs_on(host) as logs, database_on(host, server_cpus, logs) as database:
        engine = engine_on(host)
        chosen = engine if generator_name == "engine" else generator(generator_name)
        yield World(
            server_host=host,
            server_cpus=tuple(server_cpus),
            loads=(LoadSide(host, tuple(load_cpus), engine, logs),),
            generator=chosen,
            generator_version=generator_version(chosen, host),
            engine_version=generator_version(engine, host),
            server_engine=engine,
            logs=logs,
            database=database,
        )


def engine_on(host: LocalHost | SshHost) -> Engine:
    """Our load engine on a machine; it is sent to another one."""
    return send_engine(host) if isinstance(host, SshHost) else Engine()


@contextmanager
def logs_on(host: LocalHost | SshHost) -> Iterator[Path]:
    """The folder for logs there, in use until the context ends. Raises if its disk is full."""
    if isinstance(host, SshHost):
        host.require_room(DISK_FREE_BYTES_MIN)
        yield Path(host.scratch_folder())
        return
    logs: Path = home() / "logs"
    make_room(logs)
    with in_use(logs):
        yield logs


@contextmanager
def database_on(host: LocalHost | SshHost, cpus: Sequence[int], logs: Path) -> Iterator[Database]:
    """PostgreSQL there, which starts when a workload needs it and is removed at the end."""
    if isinstance(host, SshHost):
        database = Database(host, logs / "databases", tuple(cpus), logs, f" on {host.target}")
    else:
        database = Database(host, home() / "databases", tuple(cpus), logs)
    with closing(database):
        yield database


def _local_host(limits: Limits | None, isolate: bool, containers: bool) -> LocalHost:
    if not containers:
        return LocalHost(limits=limits, isolate=isolate)
    try:
        return LocalHost("cgroup-v2", limits, isolate)
    except HostError:
        return LocalHost("subreaper", limits, isolate)
