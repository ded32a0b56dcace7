"""Fits a protocol to the limits of the machines, before anything runs."""

import math
from dataclasses import dataclass

from deadheat.errors import DeadheatError
from deadheat.host.fingerprint import Fingerprint
from deadheat.protocol import Protocol

DESCRIPTORS_BESIDE = 64  # of a process, in addition to its connections
CLIENTS_MAX = 8  # client processes of one trial
UNLIMITED = 1 << 20  # ports, if their range is unknown


@dataclass(frozen=True, slots=True)
class Fitted:
    """A protocol with the levels that are possible, the connections that one client process may
    hold, and remarks for the reader."""

    protocol: Protocol
    connections_each: int
    remarks: tuple[str, ...]


def fit_to(protocol: Protocol, load: Fingerprint, server: Fingerprint, load_cpus: int) -> Fitted:
    """Fit a protocol to two fingerprints, which may be of one machine.

    Leaves out levels that no allowed number of client processes can hold, with a remark. Raises
    `DeadheatError` if no level is left.
    """
    each = load.open_files_hard - DESCRIPTORS_BESIDE
    remarks: list[str] = []
    levels = []
    for connections in protocol.connections:
        if reason := _impossible(connections, each, load, protocol.generator):
            remarks.append(f"{connections:,} connections are left out: {reason}")
        else:
            levels.append(connections)
            remarks += _level_remarks(connections, each, server)
    if not levels:
        raise DeadheatError(
            f"no level of {protocol.name} is possible here: {'; '.join(remarks)}",
            "raise the limits, or use fewer connections with --connections",
        )
    if protocol.threads > load_cpus:
        remarks.append(f"the load generator's {protocol.threads} threads share {load_cpus} CPU")
    remarks += _setting_remarks(protocol, server)
    fitted = protocol
    if len(levels) < len(protocol.connections):
        left_out = [n for n in protocol.connections if n not in levels]
        deviation = f"without {', '.join(f'{n:,}' for n in left_out)} connections"
        deviations = (*protocol.deviations, deviation) if protocol.origin else ()
        fitted = protocol.model_copy(
            update={"connections": tuple(levels), "deviations": deviations}
        )
    return Fitted(fitted, each, tuple(remarks))


def too_few(protocol: Protocol, server: Fingerprint) -> tuple[str, ...]:
    """Remarks on levels of a race that the server's machine cannot hold.

    The engine splits itself into several processes if one may hold too few connections.
    """
    return tuple(
        remark
        for connections in protocol.connections
        for remark in _level_remarks(connections, UNLIMITED, server)
    )


def _impossible(connections: int, each: int, load: Fingerprint, generator: str) -> str | None:
    if each < 1 or math.ceil(connections / each) > CLIENTS_MAX:
        return (
            f"a process may open {load.open_files_hard:,} files here, and there are at most "
            f"{CLIENTS_MAX} client processes; to raise the limit: ulimit -n 65536"
        )
    ports = load.sysctl.get("net.ipv4.ip_local_port_range") or f"1 {UNLIMITED}"
    low, high = map(int, ports.split())
    if generator != "engine" and high - low + 1 < connections:
        return (
            f"{generator} connects from one address, which has {high - low + 1:,} ports; to add "
            'ports: sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
        )
    return None


def _level_remarks(connections: int, each: int, server: Fingerprint) -> list[str]:
    remarks = []
    descriptors = server.open_files_hard
    if (clients := math.ceil(connections / each)) > 1:
        remarks.append(
            f"{connections:,} connections come from {clients} client processes; one may "
            f"hold {each:,}"
        )
    if connections > descriptors - DESCRIPTORS_BESIDE:
        remarks.append(
            f"a server with one process may open {descriptors:,} files here, too few for "
            f"{connections:,} connections; to raise the limit: ulimit -n 65536"
        )
    for name in ("net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"):
        size = server.sysctl.get(name)
        if size is not None and int(size) < connections:
            remarks.append(
                f"{connections:,} simultaneous connections exceed {name}, which is {size}: the "
                "kernel may drop some, which connect a second later"
            )
    return remarks


def _setting_remarks(protocol: Protocol, server: Fingerprint) -> list[str]:
    """Settings that differ from those of the published machine, with commands to change them."""
    if (origin := protocol.origin) is None:
        return []
    remarks = []
    for name, published in origin.sysctl.items():
        here = server.sysctl.get(name)
        if here is None:
            remarks.append(f"{name} is unknown here, published {published}")
        elif here.split() != published.split():
            remarks.append(
                f"{name} is {' '.join(here.split())}, published {published}; to change it: "
                f'sudo sysctl -w {name}="{published}"'
            )
    descriptors = server.open_files_hard
    if origin.open_files is not None and descriptors < origin.open_files:
        remarks.append(
            f"a process may open {descriptors:,} files, published {origin.open_files:,}; to "
            f"raise the limit: ulimit -n {origin.open_files}"
        )
    return remarks
