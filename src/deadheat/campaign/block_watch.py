"""Watches the machines during a block: one, or the server host and the load host."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deadheat.host import ENDS_ONLY_S, Completed, Host, Sample
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.gates.evidence import LOAD, Evidence, increases
from deadheat.measure.gates.judge import judge_block, on_load_host, worst_of
from deadheat.measure.load_process import processes_on
from deadheat.measure.warm_instance import WarmInstance
from deadheat.measure.world import World
from deadheat.store import Gate


@dataclass(frozen=True, slots=True)
class Watched:
    """What one machine showed during a block. The times of two machines are never compared."""

    role: str
    cpus: tuple[int, ...]
    samples: Sequence[Sample]

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
        gates = judge_block(evidence)
        return on_load_host(gates) if self.role == "load" else gates


class BlockWatch:
    """Samples each machine at both ends of a block, with the process trees that run there."""

    def __init__(self, world: World, instances: Sequence[WarmInstance]) -> None:
        servers = [i.instance.process for i in instances if i.instance.process]
        servers += dict.fromkeys(i.database for i in instances if i.database is not None)
        loads = [load for i in instances for load in i.loads.values()]
        self._watches: list[tuple[str, Host, tuple[int, ...], str]] = []
        if world.beside:
            cpus = (*world.server_cpus, *world.load.cpus)
            processes = servers + processes_on(world.load.host, loads)
            self._begin("both", world.server_host, cpus, processes)
        else:
            self._begin("server", world.server_host, world.server_cpus, servers)
            for side in world.loads:
                self._begin("load", side.host, side.cpus, processes_on(side.host, loads))

    def _begin(
        self, role: str, host: Host, cpus: tuple[int, ...], processes: Sequence[str]
    ) -> None:
        self._watches.append((role, host, cpus, host.watch(processes, ENDS_ONLY_S)))

    def end(self) -> list[Watched]:
        """The server's machine comes first."""
        return [
            Watched(role, cpus, host.unwatch(watch)) for role, host, cpus, watch in self._watches
        ]


def joined(parts: Sequence[Watched]) -> Watched:
    """One machine over several levels of a block."""
    samples = [sample for part in parts for sample in part.samples]
    return replace(parts[0], samples=samples)


def judge_machines(machines: Sequence[Watched], spec: LoadSpec, pooled: LoadResult) -> list[Gate]:
    """One gate for each check, of the machine that fared worst."""
    return worst_of(gate for machine in machines for gate in machine.gates(spec, pooled))
