"""One block of a race: rounds of one slice of each instance, then a trial of each.

The machines are watched meanwhile: one, or the server host and the load hosts.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from deadheat.campaign.failures import Troubles
from deadheat.campaign.past import COMMON_RATE
from deadheat.campaign.resolve import SliceLengths
from deadheat.campaign.run import RaceContext
from deadheat.host import ENDS_ONLY_S, Completed, Host, RunningServer, Sample, Usage
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.engine import SliceRequest
from deadheat.load.pooling import pool
from deadheat.measure.gates.evidence import LOAD, Evidence, increases
from deadheat.measure.gates.judge import judge_block, on_load_host, worst_of
from deadheat.measure.load_process import processes_on
from deadheat.measure.slices import BlockReadings, Slice, measure_slice, trial_of
from deadheat.measure.warm_up import WarmInstance
from deadheat.measure.world import World
from deadheat.store import Gate, TrialRecord
from deadheat.workload import Level

Key = tuple[int, Level]  # instance id, level
OPENING_S = 0.05  # of load that opens connections


@dataclass(frozen=True, slots=True)
class Watched:
    """What one machine showed during a block. The times of two machines are never compared.

    `unseen`: deadheat could not find the processes of a server that ran there.
    """

    role: str
    cpus: tuple[int, ...]
    samples: Sequence[Sample]
    unseen: bool = False

    def increases(self) -> dict[str, int]:
        """The increase of each network counter; those of a load host have its role in front."""
        return increases(self.samples, LOAD if self.role == "load" else "")

    def gates(self, spec: LoadSpec, pooled: LoadResult) -> list[Gate]:
        """The machine's gates; advice on a load host says so."""
        evidence = Evidence(
            spec=spec,
            result=pooled,
            generator=Completed(0, "", "", self.samples[-1].at_s - self.samples[0].at_s, 0.0),
            samples=self.samples,
            cpus=self.cpus,
            beside=self.role == "both",
        )
        gates = judge_block(evidence, knows_servers=not self.unseen)
        return on_load_host(gates) if self.role == "load" else gates


class BlockWatch:
    """Samples each machine at both ends of a block, with the process trees that run there."""

    def __init__(self, world: World, instances: Sequence[WarmInstance]) -> None:
        read = [i.instance.read_process for i in instances]
        servers = [*dict.fromkeys(process for process in read if process)]
        running = [i.instance.running for i in instances if i.instance.running is not None]
        self._unseen = any(i.instance.unseen is not None for i in instances)
        servers += dict.fromkeys(i.database for i in instances if i.database is not None)
        loads = [load for i in instances for load in i.loads.values()]
        self._watches: list[tuple[str, Host, tuple[int, ...], str]] = []
        if world.beside:
            cpus = _with_those_of(running, (*world.server_cpus, *world.load.cpus))
            processes = servers + processes_on(world.load.host, loads)
            self._begin("both", world.server_host, cpus, processes)
        else:
            cpus = _with_those_of(running, world.server_cpus)
            self._begin("server", world.server_host, cpus, servers)
            for side in world.loads:
                self._begin("load", side.host, side.cpus, processes_on(side.host, loads))

    def _begin(
        self, role: str, host: Host, cpus: tuple[int, ...], processes: Sequence[str]
    ) -> None:
        self._watches.append((role, host, cpus, host.watch(processes, ENDS_ONLY_S)))

    def end(self) -> list[Watched]:
        """The server's machine comes first."""
        return [
            Watched(role, cpus, host.unwatch(watch), self._unseen and role != "load")
            for role, host, cpus, watch in self._watches
        ]


class Block:
    """Measures one block and stores its trials.

    Blocks are numbered from 1. `instances` are given from the fastest to the slowest. Those in
    `used` have run a block before, so their connections are renewed; those of a fresh instance are
    as new as it is. `order` draws what is random.
    """

    def __init__(
        self,
        run: RaceContext,
        number: int,
        instances: Sequence[WarmInstance],
        used: Collection[int],
        order: random.Random,
        troubles: Troubles,
        lengths: SliceLengths,
    ) -> None:
        self._run = run
        self._rule = run.protocol.slices
        self._number = number
        self._instances = instances
        self._used = used
        self._order = order
        self._troubles = troubles
        self._lengths = lengths
        self._slices: dict[Key, list[Slice]] = {}
        self._failed: set[int] = set()  # ids of instances
        self._drops: int | None = None  # of all listen queues, after the last slice

    def run(self) -> list[tuple[WarmInstance, TrialRecord]]:
        """Measure every instance; store a trial of each.

        One level after the other, in random order: idle connections of another level would occupy
        workers of a server that has one for each connection. An instance with a failed slice is
        left out of the rounds that follow.
        """
        at_s = self._run.now_s()
        for workers in (i.workers for i in self._instances if i.workers is not None):
            workers.begin()
        machines: dict[Level, list[Watched]] = {}
        levels = list(self._run.protocol.levels)
        self._order.shuffle(levels)
        for level in levels:
            if self._ends_early():
                break
            if level.offered_rate_per_s:
                self._open_connections(level)
            watch = BlockWatch(self._run.world, self._instances)
            self._measure(level)
            machines[level] = watch.end()
        return self._trials(machines, at_s)

    def _measure(self, level: Level) -> None:
        """The rounds of one level."""
        measured_here = [i for i in self._instances if level in i.loads]
        for round_number in range(1, self._rule.rounds + 1):
            if self._ends_early():
                return
            present = [i for i in measured_here if self._in_round(i, round_number)]
            for instance in neighbors_together(present, self._order):
                if instance.instance_id in self._failed:
                    continue
                done = self._slices.setdefault((instance.instance_id, level), [])
                measured = self._slice(instance, level, round_number, first=not done)
                done.append(measured)
                if measured.fault is not None:
                    self._failed.add(instance.instance_id)

    def _open_connections(self, level: Level) -> None:
        """Of each instance, so that the CPU time of few requests does not contain it."""
        for instance in self._instances:
            if level in instance.loads and instance.instance_id not in self._failed:
                request = SliceRequest(OPENING_S)
                load = instance.loads[level]
                measure_slice(self._run.world, instance.instance, load, request, 0.0, 0)
        self._drops = None  # those of these loads are of no slice

    def _ends_early(self) -> bool:
        """The budget is the end of the race, also in a block: once each instance has a slice."""
        loaded = {instance_id for instance_id, _ in self._slices}
        return self._run.now_s() >= self._run.ends_s and loaded.issuperset(
            instance.instance_id for instance in self._instances
        )

    def _workers_gone(self, instance: WarmInstance) -> int | None:
        """A protocol that never renews connections has no processes that end with them."""
        if instance.workers is None:
            return None
        opened = instance.instance_id in self._used or self._has_levels
        return instance.workers.end(opened_connections=opened or not self._rule.renew)

    @property
    def _has_levels(self) -> bool:
        """An instance has several, so that each hangs up after its last slice in the block."""
        return self._run.protocol.levels_each > 1

    def _in_round(self, instance: WarmInstance, round_number: int) -> bool:
        """Controls run in the first round and in every fourth after it, or as the rule says."""
        if instance.entered.contender.role == "contender":
            return True
        return (round_number - 1) % self._rule.control_every == 0

    def _slice(self, instance: WarmInstance, level: Level, round_number: int, first: bool) -> Slice:
        renew = first and self._rule.renew and instance.instance_id in self._used
        renew &= not level.offered_rate_per_s  # they were opened for this block
        opens = (renew or (first and self._has_levels)) and not level.offered_rate_per_s
        later = range(round_number + 1, self._rule.rounds + 1)
        discard_s = self._rule.renew_discard_s if opens else self._rule.discard_s
        request = replace(
            self._lengths.draw(instance, level, discard_s, self._order),
            renew=renew,
            hang_up=self._has_levels and not any(self._in_round(instance, r) for r in later),
        )
        host = self._run.world.server_host
        before = self._drops if self._drops is not None else host.listen_drops()
        measured = measure_slice(
            self._run.world,
            instance.instance,
            instance.loads[level],
            request,
            self._run.now_s(),
            (self._number - 1) * self._rule.rounds + round_number,
        )
        self._drops = after = host.listen_drops()
        drops = None if before is None or after is None else after - before
        return replace(measured, listen_drops=drops)

    def _trials(
        self, machines: Mapping[Level, Sequence[Watched]], at_s: float
    ) -> list[tuple[WarmInstance, TrialRecord]]:
        """The machines are judged over the whole block; the CPU time of a trial is of its level."""
        gone = {i.instance_id: self._workers_gone(i) for i in self._instances}
        over_block = [
            replace(parts[0], samples=[sample for part in parts for sample in part.samples])
            for parts in zip(*machines.values(), strict=True)
        ]
        gates = self._block_gates(over_block)
        network = Counter[str]()
        for machine in over_block:
            network.update(machine.increases())
        trials = []
        shared_by = Counter(i.instance.read_process for i in self._instances)
        for instance in self._instances:
            process = instance.instance.read_process
            for level in self._run.protocol.levels:
                if (instance.instance_id, level) not in self._slices:
                    continue
                readings = BlockReadings(
                    usage=_usage(machines[level][0].samples, process, shared_by[process]),
                    gates=gates,
                    network=network,
                    workers_gone=gone[instance.instance_id],
                )
                record = self._trial(instance, level, readings, at_s)
                trials.append((instance, record))
        self._run.store.add_trials([record for _, record in trials])
        self._run.owed.difference_update(instance.name for instance in self._instances)
        for instance, record in trials:
            self._troubles.report(instance.name, record)
        return trials

    def _trial(
        self, instance: WarmInstance, level: Level, readings: BlockReadings, at_s: float
    ) -> TrialRecord:
        warmed = instance.warmed_on(level.workload)
        is_warmed_at = level.connections == max(self._run.protocol.connections)
        is_warmed_at &= not level.offered_rate_per_s
        kind = COMMON_RATE if level.offered_rate_per_s else "measure"
        context = replace(
            self._run.trial_context(instance, level.workload, kind, self._number),
            at_s=at_s,
            witness_per_s=warmed.witness_per_s if is_warmed_at else None,
        )
        load, slices = instance.loads[level], self._slices[instance.instance_id, level]
        return trial_of(self._run.world, instance.instance, load, context, slices, readings)

    def _block_gates(self, machines: Sequence[Watched]) -> list[Gate]:
        """The machines' gates over the whole block, for every trial of it alike."""
        results = [
            s.result for parts in self._slices.values() for s in parts if s.result is not None
        ]
        if not results:
            return []
        spec = next(iter(self._instances[0].loads.values())).spec
        pooled = pool([replace(result, histograms={}) for result in results])
        return worst_of(gate for machine in machines for gate in machine.gates(spec, pooled))


def neighbors_together(ranked: Sequence[WarmInstance], order: random.Random) -> list[WarmInstance]:
    """A random order in which neighbors in rate stay next to each other: rotated, maybe reversed.

    `ranked` is from the fastest to the slowest. Neighbors are the pairs that are hard to
    separate, and slices close in time see the same machine.
    """
    if not ranked:
        return []
    start = order.randrange(len(ranked))
    rotated = [*ranked[start:], *ranked[:start]]
    return rotated[::-1] if order.random() < 0.5 else rotated


def _usage(
    samples: Sequence[Sample], process: str, shared_by: int
) -> tuple[Usage | None, Usage | None]:
    """Before and after; None of a process that answers several URLs, because none has it alone."""
    if shared_by > 1:
        return None, None
    return samples[0].usage.get(process), samples[-1].usage.get(process)


def _with_those_of(running: Sequence[RunningServer], cpus: tuple[int, ...]) -> tuple[int, ...]:
    """The CPUs, with those that servers which run already may use: their CPU time is counted."""
    return (*dict.fromkeys([*cpus, *(cpu for server in running for cpu in server.cpus)]),)
