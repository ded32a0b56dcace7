"""`World`: the hosts, CPUs and load generator of one campaign."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.host import Host
from deadheat.host.fingerprint import Fingerprint
from deadheat.load import Engine, Generator
from deadheat.measure.database import Database
from deadheat.measure.link import Link


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

    On two machines, `server_address` is the server host's as the load host sees it, and servers
    listen there. `load_logs` and `null_server_engine` are paths of the host that uses them.
    `more_loads` are further load hosts; each has an equal part of the connections.
    """

    server_host: Host
    load_host: Host
    server_cpus: tuple[int, ...]
    load_cpus: tuple[int, ...]
    generator: Generator
    generator_version: str
    engine: Engine
    engine_version: str
    logs: Path
    database: Database | None = None  # None: no workload can have one
    server_address: str = "127.0.0.1"
    load_logs: Path | None = None  # None: `logs`
    null_server_engine: Engine | None = None  # None: `engine`
    link: Link | None = None  # None: on one machine
    more_loads: tuple[LoadSide, ...] = ()
    port: int | None = None  # of every server, as published; None: a free one

    @property
    def beside(self) -> bool:
        """Whether the load runs on the server's machine."""
        return self.load_host is self.server_host

    @property
    def loads(self) -> tuple[LoadSide, ...]:
        """All machines that send load."""
        logs = self.load_logs or self.logs
        return (LoadSide(self.load_host, self.load_cpus, self.engine, logs), *self.more_loads)

    @property
    def engine_of_controls(self) -> Engine:
        return self.null_server_engine or self.engine


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
