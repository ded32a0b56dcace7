"""Resolves a protocol: the values that run on these machines, before anything is stored.

A protocol as asked for, by its file and the command line, becomes the one that runs and is stored.
Nothing changes it afterwards. Its slices are of random length, longer where a server is slow, and
shorter in a small budget. This also says how long slices and blocks take, with all that is not
counted.
"""

import math
import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Generic, TypeVar

from deadheat.campaign.past import level_of
from deadheat.errors import DeadheatError
from deadheat.host import Host
from deadheat.host.fingerprint import Fingerprint
from deadheat.load.engine import SliceRequest
from deadheat.measure.warm_up import WarmInstance
from deadheat.measure.world import World
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol, Settle, SliceProtocol
from deadheat.store import TrialRecord
from deadheat.workload import Level

FEWEST_INSTANCES = 2
CYCLES = 3.0  # of each connection, in a window of mean length
SPREAD = 0.6  # windows differ from their mean by up to this share, at random
WINDOW_S_MAX = 3.0  # of the mean
DISCARD_S_MAX = 1.0  # if the protocol discards less
FACTOR_MAX = 4  # a server that leaves connections without an answer for longer fails its trials
BETWEEN_SLICES_S = 0.008  # thaw, command, drain and freeze
# Of a contender's part of the budget: the slices of its first instances. Starts take as much, and
# the rest is for contenders that need more of both.
FIRST_SLICES_SHARE = 1 / 3


def within_budget(protocol: SliceProtocol, contenders: int) -> SliceProtocol:
    """The protocol with shorter slices, if that gives each contender more instances in the budget.

    With two or three instances, an interval is several times as wide as with four, and the length
    of slices matters less.
    """
    rule, stopping = protocol.slices, protocol.stopping
    if rule.shortest_s is None or contenders == 0 or not isinstance(stopping, Settle):
        return protocol
    part_s = stopping.budget_s / contenders / protocol.levels_each
    each_s = FIRST_SLICES_SHARE * part_s / stopping.invocations / rule.rounds
    fitting_s = round(each_s - rule.discard_s - BETWEEN_SLICES_S, 2)
    duration_s = min(protocol.duration_s, max(rule.shortest_s, fitting_s))
    return protocol.model_copy(update={"duration_s": duration_s})


def slice_s(protocol: SliceProtocol) -> float:
    """Seconds that a slice takes; more where a server is slow."""
    return protocol.duration_s + protocol.slices.discard_s + BETWEEN_SLICES_S


def block_s(protocol: SliceProtocol, contenders: int) -> float:
    """Seconds that a block of this many contenders takes, at all levels."""
    return contenders * protocol.levels_each * protocol.slices.rounds * slice_s(protocol)


class SliceLengths:
    """Windows of the protocol's length or of some cycles of each connection, with random lengths.

    A window of fixed length may keep time with the server: with pauses that come every so many
    requests, each slice has one, or none has. A cycle is what a request takes on its connection,
    by the rate of the warm-up. Discarding takes a whole one, because the connections start at the
    same moment.

    Windows are twice as long after a trial in which a connection got no answer or the server
    paused for longer than a window, or if slices disagree with the load without slices, and twice
    as long again after the next one.
    """

    def __init__(self, protocol: SliceProtocol) -> None:
        self._protocol = protocol
        self._factors: dict[tuple[str, Level], int] = defaultdict(lambda: 1)

    def draw(
        self, instance: WarmInstance, level: Level, discard_s: float, order: random.Random
    ) -> SliceRequest:
        """The next slice of an instance; `discard_s` is the least to discard."""
        rate_per_s = instance.warmed_on(level.workload).rate_per_s
        cycle_s = instance.loads[level].spec.in_flight / rate_per_s if rate_per_s > 0 else 0.0
        usual_s = max(self._protocol.duration_s, CYCLES * cycle_s)
        factor = self._factors[instance.name, level]
        mean_s = min(factor * usual_s, max(WINDOW_S_MAX, self._protocol.duration_s))
        return SliceRequest(
            duration_s=round(mean_s * order.uniform(1 - SPREAD, 1 + SPREAD), 4),
            discard_s=round(max(discard_s, min(cycle_s, DISCARD_S_MAX)), 4),
        )

    def note(self, name: str, record: TrialRecord) -> None:
        """After a trial of the contender with this name."""
        unserved = any(gate.code == "served" and not gate.passed for gate in record.gates)
        longest_pause_us = record.figures.longest_pause_us or 0.0
        if unserved or longest_pause_us > 1e6 * self._protocol.duration_s:
            self.lengthen(name, level_of(record))

    def lengthen(self, name: str, level: Level) -> None:
        """Make the contender's windows twice as long, up to the limit."""
        self._factors[name, level] = min(2 * self._factors[name, level], FACTOR_MAX)


DESCRIPTORS_BESIDE = 64  # of a process, in addition to its connections
CLIENTS_MAX = 8  # client processes of one trial
UNLIMITED = 1 << 20  # connections of a process, and ports where their range is unknown

P = TypeVar("P", SliceProtocol, AloneProtocol, SearchProtocol)


@dataclass(frozen=True, slots=True)
class Resolved(Generic[P]):
    """The protocol that runs, and remarks on how the machines limit it.

    `connections_each` is how many connections one client process may hold.
    """

    protocol: P
    connections_each: int
    remarks: tuple[str, ...]


def resolve(protocol: P, world: World, contenders: int) -> Resolved[P]:
    """The protocol as it runs on these machines with so many contenders.

    Brings the machines into the state that the protocol asks for, because that decides, too. Raises
    `DeadheatError` if no level is possible.
    """
    make_ready(protocol, world)
    if isinstance(protocol, AloneProtocol):
        return limits_of(on_hosts(protocol, world.beside), world)
    if isinstance(protocol, SliceProtocol):
        return limits_of(for_wake_ups(within_budget(protocol, contenders), world), world)
    return limits_of(protocol, world)


def limits_of(protocol: P, world: World) -> Resolved[P]:
    """The protocol within the limits of these machines."""
    load, server = world.load.host.fingerprint(), world.server_host.fingerprint()
    if isinstance(protocol, AloneProtocol):
        return fit_to(protocol, load, server, min(len(side.cpus) for side in world.loads))
    return Resolved(protocol, UNLIMITED, too_few(protocol, server))


def make_ready(protocol: Protocol, world: World) -> None:
    """Keep idle CPUs awake, where the protocol asks for it; fingerprints show it."""
    if protocol.awake:
        for host in _hosts(world):
            host.keep_awake()


def on_hosts(protocol: AloneProtocol, beside: bool) -> AloneProtocol:
    """The protocol with the load `beside` the server or not; a replay lists a difference."""
    if protocol.origin is None or (protocol.origin.client_host == "same") == beside:
        return protocol
    place = "the same host" if beside else "another host"
    deviations = (*protocol.deviations, f"client on {place}")
    return protocol.model_copy(update={"deviations": deviations})


def for_wake_ups(protocol: SliceProtocol, world: World) -> SliceProtocol:
    """Where idle CPUs sleep, more of each slice is discarded."""
    if all(_is_awake(host) for host in _hosts(world)):
        return protocol
    rule = protocol.slices
    more = {
        name: round(getattr(rule, name) + rule.asleep_discard_s, 6)
        for name in ("discard_s", "renew_discard_s")
    } | {"asleep_discard_s": 0.0}
    return protocol.model_copy(update={"slices": rule.model_copy(update=more)})


def _is_awake(host: Host) -> bool:
    return host.fingerprint().cpu.idle.wake_up_us is not None


def _hosts(world: World) -> list[Host]:
    return [world.server_host, *(side.host for side in world.loads)]


def fit_to(
    protocol: AloneProtocol, load: Fingerprint, server: Fingerprint, load_cpus: int
) -> Resolved[AloneProtocol]:
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
    return Resolved(fitted, each, tuple(remarks))


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


def _setting_remarks(protocol: AloneProtocol, server: Fingerprint) -> list[str]:
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
