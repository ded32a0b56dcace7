"""The hosts of a measurement, the link between two of them, and how quiet they are."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat import numbers
from deadheat.build.leftovers import DISK_FREE_BYTES_MIN, in_use, make_room
from deadheat.errors import DeadheatError, Unmeasurable
from deadheat.home import home
from deadheat.host import Host, HostError, Limits, ProcessSpec
from deadheat.host.agent_host import AgentHost
from deadheat.host.cpu_time import Quietness, read_quietness
from deadheat.host.fingerprint import Interface, LinkSpeed
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost, host_name
from deadheat.load import Engine, LoadResult, LoadSpec, generator, generator_version
from deadheat.load.engine import send_engine
from deadheat.measure.certificates import Certificates, certificates
from deadheat.measure.database import Database
from deadheat.measure.lifecycle import is_taken
from deadheat.measure.load_process import load_once
from deadheat.measure.world import Link, LoadSide, World, by_role, cpus_of_load, split_cpus
from deadheat.output import echo

HERE = "."  # this machine, as --load-host
BOOT_ID_S = 10.0


@dataclass(frozen=True, slots=True)
class Hosts:
    """The machines that the command line names; None is this one."""

    server: str | None = None
    load: str | None = None
    address: str | None = None  # of the server host, as the load host sees it
    more_loads: tuple[str | None, ...] = ()

    @property
    def loads(self) -> tuple[str | None, ...]:
        """All machines that send load."""
        return (self.load, *self.more_loads)

    def __bool__(self) -> bool:
        """Whether any of them is another machine."""
        return bool(self.server or any(self.loads))

    @property
    def far(self) -> list[str]:
        """The other machines, as ssh reaches them."""
        return [target for target in (self.server, *self.loads) if target is not None]

    def require_sense(self, isolate: bool = False) -> None:
        """Raises `DeadheatError` for options that exclude each other."""
        if isolate and self:
            raise DeadheatError(
                "--isolate: an isolated network does not reach another machine",
                "omit it, or omit --server-host and --load-host",
            )
        if self.server is not None and self.server in self.loads:
            raise DeadheatError(
                f"--server-host and --load-host are both {self.server}: expected two machines",
                "run deadheat there, or name another machine",
            )
        names = [name or HERE for name in self.loads]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise DeadheatError(
                f"--load-host {repeated[0]} is given twice: expected different machines",
                "for more threads on one machine: --load-threads",
            )
        if self.more_loads and None in self.loads and self.server is None:
            raise DeadheatError(
                f"--load-host {HERE}: the servers run on this machine, and need its CPUs",
                "name other machines only, or --server-host too",
            )
        if self.address is not None and not self:
            raise DeadheatError(
                "--server-address: expected --server-host or --load-host",
                "on one machine, servers listen on 127.0.0.1",
            )

    def server_address(self, load_host: AgentHost) -> str:
        """The IPv4 address at which servers listen. Raises `DeadheatError` if it is unknown."""
        try:
            if self.address is not None:
                return load_host.resolve(self.address)
            if self.server is not None:
                return load_host.resolve(host_name(self.server))
            address = load_host.peer_address()
        except DeadheatError as error:
            raise DeadheatError(
                f"the address of the server host is unknown: {error}",
                "give it as the load host sees it: --server-address ADDRESS",
            ) from error
        if address is None or ":" in address:
            raise DeadheatError(
                f"the address of this machine as {self.load} sees it is {address or 'unknown'}: "
                "expected an IPv4 address",
                "give it: --server-address ADDRESS",
            )
        return address


@contextmanager
def host_of(
    target: str | None, limits: Limits | None = None, isolate: bool = False
) -> Iterator[LocalHost | SshHost]:
    """This machine, or the one that ssh reaches as `target`, until the context ends."""
    if target is None:
        with LocalHost(limits=limits, isolate=isolate) as local:
            yield local
        return
    with SshHost(target, limits, isolate) as far:
        yield far


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
    with (
        logs_on(host) as logs,
        database_on(host, server_cpus, logs) as database,
        certificates() as made,
    ):
        engine = engine_on(host, made)
        chosen = engine if generator_name == "engine" else generator(generator_name)
        yield World(
            server_host=host,
            server_cpus=tuple(server_cpus),
            loads=(LoadSide(host, tuple(load_cpus), engine, logs),),
            generator=chosen,
            generator_version=generator_version(chosen, host),
            server_engine=engine,
            engine_version=generator_version(engine, host),
            logs=logs,
            database=database,
            certificates=_on_hosts(made, host, []),
        )


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
        made = context.enter_context(certificates())
        sides = [context.enter_context(_side(host, threads, made)) for host in (load, *more)]
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
            server_engine=engine_on(server, made),
            logs=server_logs,
            database=database,
            server_address=address,
            certificates=_on_hosts(made, server, [load, *more], address),
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
def _side(host: LocalHost | SshHost, load_threads: int, made: Certificates) -> Iterator[LoadSide]:
    cpus = cpus_of_load(host.fingerprint(), load_threads)
    with logs_on(host) as logs:
        yield LoadSide(host, tuple(cpus), engine_on(host, made), logs)


def _on_hosts(
    made: Certificates,
    server: LocalHost | SshHost,
    loads: Sequence[LocalHost | SshHost],
    address: str | None = None,
) -> Certificates:
    """The certificates, for servers and load on these hosts."""
    far = [host for host in dict.fromkeys((server, *loads)) if isinstance(host, SshHost)]
    at = server if isinstance(server, SshHost) else None
    return replace(made, server=at, far=tuple(far), address=address)


def engine_on(host: LocalHost | SshHost, made: Certificates) -> Engine:
    """Our load engine on a machine; it is sent to another one."""
    return (
        send_engine(host) if isinstance(host, SshHost) else Engine(ca=str(made.folder / "ca.pem"))
    )


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


ROUND_TRIPS_S = 0.3
BANDWIDTH_S = 0.5
BANDWIDTH_CONNECTIONS = 4
BODY_BYTES = 60_000
READY_S = 5.0
PROBE_S = 1.0
PROBE_INTERVAL_S = 0.05
STOP_S = 2.0
REQUEST = b"GET / HTTP/1.1\r\nHost: deadheat\r\nConnection: close\r\n\r\n"


def measure_link(world: World) -> Link:
    """Load the null server over the link. Raises `DeadheatError` if a load host gets no answer.

    It takes about a second. Several load hosts load it together; the round trip is then the mean
    (harmonic) of theirs.
    """
    sides = world.loads
    # Of one connection on each load host.
    spec = LoadSpec("", len(sides), ROUND_TRIPS_S, timeout_s=2.0)
    small = load_null_server(world, "", spec)
    body, connections = "x" * BODY_BYTES, BANDWIDTH_CONNECTIONS * len(sides)
    large = load_null_server(world, body, LoadSpec("", connections, BANDWIDTH_S, timeout_s=2.0))
    late = {name for name in large.errors if name.startswith("timeout")}  # its bytes count
    if small.errors_total or not small.requests_ok or not large.bytes_in or {*large.errors} - late:
        failed = ", ".join(filter(None, (small.errors_text, large.errors_text)))
        raise DeadheatError(
            f"the link to {world.server_address} is too slow or lossy to be measured: "
            f"{failed or 'no answer'}",
            f"try: ping {world.server_address} on the load host",
        )
    return Link(
        round_trip_us=round(1e6 * small.elapsed_s * len(sides) / small.requests_ok, 1),
        bytes_per_s=round(large.bytes_in / large.elapsed_s, 1),
    )


def load_null_server(world: World, body: str, spec: LoadSpec) -> LoadResult:
    """Load a null server that answers with `body`, or its own; `spec` says how, not where."""
    host, address = world.server_host, world.server_address
    port = host.free_port()
    command = world.server_engine.null_server(str(port), 0, address)
    if body:
        command += ["--null-body", body]
    server = host.start(ProcessSpec(command), str(world.logs / f"link-{port}.log"))
    try:
        for side in world.loads:
            _require_answer(side.host, world.server_address, port)
        return load_once(world, replace(spec, url=f"http://{address}:{port}/"))
    finally:
        host.stop(server, "SIGTERM", STOP_S)


def _require_answer(host: Host, address: str, port: int) -> None:
    """Wait until the null server answers a load host."""
    begun_s = host.now_s()
    while True:
        try:
            host.exchange((address, port), REQUEST, PROBE_S, PROBE_S)
            return
        except HostError as error:
            if host.now_s() - begun_s > READY_S:
                raise DeadheatError(
                    f"the load host does not reach a server on the server host: {error}",
                    "open ports 10000 to 65535 in the firewall there, or give another address: "
                    "--server-address ADDRESS",
                ) from error
            host.sleep(PROBE_INTERVAL_S)


BETWEEN_READINGS_S = 4.0
HINT = "end other programs (`top -o %CPU` lists them), or use --wait-quiet=DURATION"


def require_quiet(world: World, wait_s: float | None, ask: Callable[[str], bool] | None) -> None:
    """Say how quiet the machine is; wait up to `wait_s` for it, or let `ask` decide.

    Raises `Unmeasurable` if it stays busy for `wait_s`, or if the answer is no. Without either, a
    busy machine is a warning, and the gates judge each trial.
    """
    server = world.server_host
    if world.beside:
        places = [("", server, (*world.server_cpus, *world.load.cpus))]
    else:
        places = [("server host: ", server, world.server_cpus)]
        for role, side in by_role(world.loads).items():
            places.append((role.replace("load", "load host") + ": ", side.host, side.cpus))
    for place, host, cpus in places:
        reading = read_quietness(host, cpus)
        if reading is not None and reading.busy and wait_s is not None:
            reading = _wait(host, cpus, wait_s, reading)
        if reading is None:
            continue
        echo(f"{place}{reading}", fg="yellow" if reading.busy else None, err=True)
        if reading.busy and ask is not None and not ask("Measure anyway?"):
            raise Unmeasurable("not measured: the machine is busy", HINT)


def _wait(host: Host, cpus: tuple[int, ...], wait_s: float, reading: Quietness) -> Quietness | None:
    """Read until the machine is quiet. Raises `Unmeasurable` if it does not get quiet in time."""
    begun_s = host.now_s()
    echo(f"{reading}; waiting up to {numbers.duration(wait_s)} until it is quiet", err=True)
    latest: Quietness | None = reading
    while latest is not None and latest.busy:
        if host.now_s() - begun_s >= wait_s:
            raise Unmeasurable(
                f"--wait-quiet: after {numbers.duration(wait_s)} {latest}",
                "end other programs (`top -o %CPU` lists them), or wait for longer",
            )
        host.sleep(BETWEEN_READINGS_S)
        latest = read_quietness(host, cpus)
    return latest
