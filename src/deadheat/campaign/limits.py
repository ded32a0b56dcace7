"""What a machine's limits make of a protocol, found before anything runs; nothing is changed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.protocol import Protocol

DESCRIPTORS_BESIDE = 64  # a process holds these beside its connections
CLIENTS_MAX = 8  # client processes of one trial
UNLIMITED = 1 << 20  # where a fingerprint does not tell


@dataclass(frozen=True, slots=True)
class Fitted:
    """The protocol with the levels that can be had, how many connections one client process may
    hold, and what a reader has to know."""

    protocol: Protocol
    connections_each: int
    remarks: tuple[str, ...]


def fit_to(
    protocol: Protocol, load: Mapping[str, Any], server: Mapping[str, Any], load_cpus: int
) -> Fitted:
    """Fit a protocol to two fingerprints (which may be of one machine).

    A level that no number of client processes can hold is left out with the reason. Raises
    `DeadheatError` where none is left.
    """
    each = load.get("open_files_hard", UNLIMITED) - DESCRIPTORS_BESIDE
    remarks: list[str] = []
    levels = []
    for connections in protocol.connections:
        if why := _cannot(connections, each, load, protocol.generator):
            remarks.append(f"{connections:,} connections are left out: {why}")
        else:
            levels.append(connections)
            remarks += _at_level(connections, each, server)
    if not levels:
        raise DeadheatError(
            f"no level of {protocol.name} can be had here: {'; '.join(remarks)}",
            "widen the limits, or ask for fewer with --connections",
        )
    if protocol.threads > load_cpus:
        remarks.append(f"the load generator's {protocol.threads} threads share {load_cpus} CPU")
    remarks += _settings(protocol, server)
    fitted = protocol
    if len(levels) < len(protocol.connections):
        left_out = [n for n in protocol.connections if n not in levels]
        told = f"without {', '.join(f'{n:,}' for n in left_out)} connections"
        deviations = (*protocol.deviations, told) if protocol.origin else ()
        fitted = protocol.model_copy(
            update={"connections": tuple(levels), "deviations": deviations}
        )
    return Fitted(fitted, each, tuple(remarks))


def too_few(protocol: Protocol, server: Mapping[str, Any]) -> tuple[str, ...]:
    """What the levels of a race ask for and the server's machine does not give.

    Our engine splits itself where a client process may hold too few connections.
    """
    return tuple(
        told
        for connections in protocol.connections
        for told in _at_level(connections, UNLIMITED, server)
    )


def _cannot(connections: int, each: int, load: Mapping[str, Any], generator: str) -> str | None:
    if each < 1 or math.ceil(connections / each) > CLIENTS_MAX:
        return (
            f"a process may hold {load['open_files_hard']:,} descriptors here, and no more than "
            f"{CLIENTS_MAX} client processes are started; to widen it: ulimit -n 65536"
        )
    ports = load.get("sysctl", {}).get("net.ipv4.ip_local_port_range", f"1 {UNLIMITED}")
    low, high = map(int, ports.split())
    if generator != "engine" and high - low + 1 < connections:
        return (
            f"{generator} connects from one address, which has {high - low + 1:,} ports; to widen "
            'them: sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
        )
    return None


def _at_level(connections: int, each: int, server: Mapping[str, Any]) -> list[str]:
    told = []
    descriptors = server.get("open_files_hard", UNLIMITED)
    if (clients := math.ceil(connections / each)) > 1:
        told.append(
            f"{connections:,} connections come from {clients} client processes, since one may hold "
            f"{each:,}"
        )
    if connections > descriptors - DESCRIPTORS_BESIDE:
        told.append(
            f"a server of one process holds at most {descriptors:,} descriptors "
            f"here, too few for {connections:,} connections at once; to widen it: ulimit -n 65536"
        )
    for name in ("net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"):
        size = server.get("sysctl", {}).get(name)
        if size is not None and int(size) < connections:
            told.append(
                f"{connections:,} connections that come at once are more than {name}, which is "
                f"{size}: some may be dropped and tried again a second later"
            )
    return told


def _settings(protocol: Protocol, server: Mapping[str, Any]) -> list[str]:
    """Where the machine is not set as the published one was, with the command that would do it."""
    if (origin := protocol.origin) is None:
        return []
    told = []
    for name, published in origin.sysctl.items():
        here = server.get("sysctl", {}).get(name)
        if here is None:
            told.append(f"{name} was published as {published} and is not read here")
        elif here.split() != published.split():
            told.append(
                f"{name} is {' '.join(here.split())}, published {published}; to set it: "
                f'sudo sysctl -w {name}="{published}"'
            )
    descriptors = server.get("open_files_hard", UNLIMITED)
    if origin.open_files is not None and descriptors < origin.open_files:
        told.append(
            f"a process may hold {descriptors:,} descriptors, published "
            f"{origin.open_files:,}; to widen it: ulimit -n {origin.open_files}"
        )
    return told
