"""`World`: the hosts, CPUs and load generator of one campaign, and the link between the hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.host import Host
from deadheat.host.fingerprint import Fingerprint
from deadheat.load import Engine, Generator, LoadResult, LoadSpec
from deadheat.measure.certificates import Certificates
from deadheat.measure.database import Database


@dataclass(frozen=True, slots=True)
class Link:
    """What the null server reaches over it: an upper bound for every server.

    `round_trip_us` is the time of one request on an open connection, `bytes_per_s` the rate of
    large answers on a few connections.
    """

    round_trip_us: float
    bytes_per_s: float

    def share(self, spec: LoadSpec, result: LoadResult) -> tuple[float, str]:
        """How much of the link a load used, at most 1 or a little more, and of what.

        In a closed loop, N connections with a round trip of T get at most N / T answers a second
        (Little, 1961). A connection for each request takes one more, and over TLS 1.3 two more. The
        bandwidth is taken to be the same in both directions.
        """
        shares = []
        if result.bytes_in is not None and result.elapsed_s:
            most_bytes = max(result.bytes_in, result.bytes_out or 0)
            shares.append((most_bytes / result.elapsed_s / self.bytes_per_s, "bandwidth"))
        if spec.rate_per_s is None:
            is_tls = spec.url.lower().startswith("https:")
            trips = 1 if spec.keep_alive else 3 if is_tls else 2
            most_per_s = spec.in_flight * 1e6 / (trips * self.round_trip_us)
            shares.append((result.rate_per_s / most_per_s, "round trip"))
        return max(shares, default=(0.0, "bandwidth"))


@dataclass(frozen=True, slots=True)
class LoadSide:
    """A machine that sends load: its CPUs, its load engine, and a folder there for logs."""

    host: Host
    cpus: tuple[int, ...]
    engine: Engine
    logs: Path


@dataclass(frozen=True, slots=True)
class World:
    """Everything that a trial uses. On one machine both hosts are the same, on disjoint CPUs.

    On two machines, `server_address` is the server host's as the load hosts see it, and servers
    listen there. `loads` has each machine that sends load; several have equal parts of the
    connections. `server_engine` is our engine on the server host, which is the controls there;
    `logs` is a folder there.
    """

    server_host: Host
    server_cpus: tuple[int, ...]
    loads: tuple[LoadSide, ...]
    generator: Generator
    generator_version: str
    engine_version: str
    server_engine: Engine
    logs: Path
    database: Database | None = None  # None: no workload can have one
    server_address: str = "127.0.0.1"
    link: Link | None = None  # None: on one machine
    certificates: Certificates | None = None  # for servers with TLS; None: none starts here
    port: int | None = None  # of every server, as published; None: a free one

    @property
    def load(self) -> LoadSide:
        """The side that loads alone: on one machine, and with a generator that is not ours."""
        return self.loads[0]

    @property
    def beside(self) -> bool:
        """Whether the load runs on the server's machine."""
        return self.load.host is self.server_host


def by_role(loads: Sequence[LoadSide]) -> dict[str, LoadSide]:
    """`load`, `load 2`, ...: how a run stores its load hosts."""
    return {f"load {n}" if n > 1 else "load": side for n, side in enumerate(loads, 1)}


def cpus_of_load(fingerprint: Fingerprint, load_threads: int) -> list[int]:
    """All CPUs of a load host, which no server uses. Raises `DeadheatError` if it has too few."""
    allowed = fingerprint.cpu.allowed
    if load_threads > len(allowed):
        raise DeadheatError(
            f"--load-threads {load_threads}: the load host has {len(allowed)} CPUs",
            f"use at most {len(allowed)}",
        )
    return list(allowed)


def split_cpus(
    fingerprint: Fingerprint, load_threads: int, crowded: bool = False
) -> tuple[list[int], list[int]]:
    """The CPUs of the server and of the load generator, disjoint; the last ones load.

    With `crowded`, load threads share half of the CPUs if there are more of them, as in a replay
    that was published with more. Raises `DeadheatError` if the machine has too few CPUs.
    """
    allowed = fingerprint.cpu.allowed
    if len(allowed) < 2:
        raise DeadheatError(
            f"{len(allowed)} CPU: expected two, one for the server and one for the load generator",
            "use a machine with more CPUs, or extend the CPU set of this container",
        )
    if crowded:
        load_threads = min(load_threads, len(allowed) // 2)
    if load_threads >= len(allowed):
        raise DeadheatError(
            f"--load-threads {load_threads}: {len(allowed)} CPUs here, and the server needs one",
            f"use at most {len(allowed) - 1}",
        )
    return list(allowed[:-load_threads]), list(allowed[-load_threads:])
