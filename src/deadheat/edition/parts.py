"""An edition of the board on one machine: what is left to race, in parts that share servers.

Nothing but the runs of an edition is stored: what was raced follows from them. So a sitting may end
at any moment, and a later one races what no run has.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.campaign.schedule import Estimate, estimate
from deadheat.catalog import Selection
from deadheat.cluster.race import jobs_of
from deadheat.measure.contender import compiler_of
from deadheat.protocol import Settle, SliceProtocol, amend
from deadheat.stats.distributions import t_critical
from deadheat.store.listing import RacedContender
from deadheat.strict import JsonObject
from deadheat.workload import HELLO

LINKS = ("go-net-http", "node-http")  # link the parts if they are chosen: light, in each workload
SHARED = 2
MEMORY_BYTES = 150 << 20  # of an instance, before any was measured
FREE_BYTES_MIN = 1 << 30
INSTANCE_SD, SLICE_SD = 0.02, 0.03  # of a log rate, before any was measured
STARTS_SHARE = 0.4  # of a part's time
INSTANCES_MAX = 12
FIRST_PASS = 0.7  # of the time; the rest is for what it leaves open
LOG_MAX = 700.0  # its exponential is still a float
ENDED = "complete"
WORDS = frozenset(
    {"homepage", "notes", "published", "support", "verified", "version"}
)  # of a manifest


@dataclass(frozen=True, slots=True)
class Racer:
    """A server that is built: `workloads` are those asked for that it answers."""

    selection: Selection
    build_key: str
    workloads: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.selection.name

    def raced_as(self, other: RacedContender) -> bool:
        """Whether a stored contender is this one, unchanged but for words."""
        manifest = self.selection.server.manifest.model_dump(by_alias=True)
        return (other.name, other.build_key) == (self.name, self.build_key) and _without_words(
            other.manifest
        ) == _without_words(json.loads(json.dumps(manifest)))


def _without_words(manifest: JsonObject) -> JsonObject:
    return {key: value for key, value in manifest.items() if key not in WORDS}


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One run to do: the contenders with the shared ones first, and the workloads."""

    names: tuple[str, ...]
    workloads: tuple[str, ...]

    def cells(self, racers: Mapping[str, Racer]) -> int:
        wanted = {*self.workloads}
        return sum(len(wanted & {*racers[name].workloads}) for name in self.names)


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of log rates: of an instance, and of one more slice."""

    instance: float = INSTANCE_SD**2
    per_slice: float = SLICE_SD**2
    measured: bool = False


@dataclass(frozen=True, slots=True)
class BoardState:
    """What the board says after a part: `open_pairs` are neighbors that are undecided, in order.

    A pair is its workload, the faster server and the slower one. `unranked` are servers that were
    raced and have no rank, each after its workload.
    """

    separates: str
    open_pairs: tuple[tuple[str, str, str], ...]
    unranked: tuple[tuple[str, str], ...]
    spread: Spread


def done_of(
    racers: Mapping[str, Racer], raced: Sequence[RacedContender], protocol: SliceProtocol
) -> dict[str, frozenset[str]]:
    """The workloads on which each racer was raced, as it is now built, in a run that ended.

    A server that failed there was raced too: it would fail again. A workload whose requests changed
    since then, or other connections, are raced anew.
    """
    now = {each.name: each for each in protocol.workloads}
    done: dict[str, set[str]] = {name: set() for name in racers}
    for each in raced:
        racer = racers.get(each.name)
        if racer is None or each.state != ENDED or not (each.trials or each.fault):
            continue
        before = {workload.name: workload for workload in each.protocol.workloads}
        if racer.raced_as(each) and {*protocol.connections} <= {*each.protocol.connections}:
            done[each.name] |= {
                name
                for name in each.protocol.workload_names
                if name == HELLO or (name in now and before[name].same_requests(now[name]))
            }
    return {name: frozenset(workloads) for name, workloads in done.items()}


def shared_of(
    racers: Mapping[str, Racer], raced: Sequence[RacedContender], named: Sequence[str] = ()
) -> tuple[str, ...]:
    """The servers that every part has: those named, else those that link the most runs so far.

    They must answer every workload that the others do, so that they link each.
    """
    if named:
        return tuple(named)
    as_now = [each for each in raced if each.name in racers and racers[each.name].raced_as(each)]
    runs = Counter(each.name for each in as_now if each.trials and not each.fault)
    failed = {each.name for each in as_now if each.state == ENDED} - {*runs}
    order = sorted(
        racers,
        key=lambda name: (
            name in failed,
            -len(racers[name].workloads),
            -runs[name],
            LINKS.index(name) if name in LINKS else len(LINKS),
            name,
        ),
    )
    return tuple(order[:SHARED])


def together_of(
    memory_free_bytes: int, raced: Sequence[RacedContender], most: int, shared: int
) -> int:
    """How many servers race beside the shared ones, so that memory holds two instances of each."""
    known = [each.memory_bytes for each in raced if each.memory_bytes]
    each_bytes = max(sum(known) / len(known) if known else 0, MEMORY_BYTES)
    held = int((memory_free_bytes - FREE_BYTES_MIN) // (2 * each_bytes))
    return max(1, min(most, held - shared))


def parts_of(
    racers: Mapping[str, Racer],
    done: Mapping[str, frozenset[str]],
    shared: Sequence[str],
    together: int,
) -> list[PlannedPart]:
    """The runs that are left. Servers with the same workloads left race together."""
    groups: dict[frozenset[str], list[str]] = {}
    for name, racer in racers.items():
        if {*racer.workloads} - done[name]:
            groups.setdefault(done[name], []).append(name)
    everything = tuple(dict.fromkeys(w for racer in racers.values() for w in racer.workloads))
    parts = []
    for before, names in groups.items():
        workloads = tuple(each for each in everything if each not in before)
        own = [name for name in names if name not in shared]
        parts += [
            PlannedPart(
                (*shared, *job.servers), _answered(racers, (*shared, *job.servers), workloads)
            )
            for job in jobs_of(own, 1, together)
        ]
    return parts


def _answered(
    racers: Mapping[str, Racer], names: Sequence[str], workloads: Sequence[str]
) -> tuple[str, ...]:
    """The workloads that one of them answers."""
    answered = {each for name in names for each in racers[name].workloads}
    return tuple(each for each in workloads if each in answered)


def open_parts(
    pairs: Sequence[tuple[str, str, str]], racers: Mapping[str, Racer], together: int
) -> list[PlannedPart]:
    """Runs for neighbors that are undecided: (workload, one, the next), in the order of a level.

    Neighbors of neighbors race together.
    """
    chains: list[tuple[str, list[str]]] = []
    for workload, above, below in pairs:
        if above not in racers or below not in racers:
            continue
        last = chains[-1] if chains else None
        if last and last[0] == workload and last[1][-1] == above and len(last[1]) <= together:
            last[1].append(below)
        else:
            chains.append((workload, [above, below]))
    return [PlannedPart(tuple(names), (workload,)) for workload, names in chains]


def unranked_parts(
    cells: Sequence[tuple[str, str]],
    racers: Mapping[str, Racer],
    shared: Sequence[str],
    together: int,
) -> list[PlannedPart]:
    """Runs for servers without a rank: (workload, server). The shared ones link each run."""
    by_workload: dict[str, list[str]] = {}
    for workload, name in cells:
        if name in racers and name not in shared:
            by_workload.setdefault(workload, []).append(name)
    return [
        PlannedPart((*shared, *job.servers), (workload,))
        for workload, names in by_workload.items()
        for job in jobs_of(names, 1, together)
    ]


def estimate_of(
    part: PlannedPart, racers: Mapping[str, Racer], protocol: SliceProtocol
) -> Estimate:
    """How long a part takes; `protocol` has its workloads and its budget."""
    lacking = [
        workload
        for name in part.names
        for workload in part.workloads
        if workload not in racers[name].workloads
    ]
    compilers = {name: compiler_of(racers[name].selection) for name in part.names}
    return estimate(protocol, part.names, lacking, compilers)


def with_budget(protocol: SliceProtocol, budget_s: float) -> SliceProtocol:
    """The protocol with this budget, if it has one."""
    if not isinstance(protocol.stopping, Settle):
        return protocol
    return amend(protocol, {}, {"budget_s": max(1.0, round(budget_s))})


def separates(
    part: PlannedPart, each: Estimate, rounds: int, shared: int, servers: int, spread: Spread
) -> tuple[float, float]:
    """About the smallest differences that a part detects with 80 % power: within it, across parts.

    `each` is the estimate at the part's budget, `servers` how many the board compares. Across
    parts, both sides' shared servers add their errors.
    """
    own_s = each.invocation_start_s / max(len(part.names), 1)
    instances = min(
        max(STARTS_SHARE * each.most_s / own_s / len(part.names), 2.0), float(INSTANCES_MAX)
    )
    blocks = max((1 - STARTS_SHARE) * each.most_s / each.block_s, instances)
    variance = spread.instance / instances + spread.per_slice / (blocks * rounds)
    pairs = max(math.comb(servers, 2), 1)
    degrees = 2.0 * (instances - 1) * max(len(part.names) / 2, 1.0)
    reach = float(t_critical(0.05 / pairs / 2, degrees) + t_critical(0.2, degrees))
    sides = (2.0, 2 + 2 / max(shared, 1))
    inside, across = (float(np.expm1(min(reach * (n * variance) ** 0.5, LOG_MAX))) for n in sides)
    return inside, across
