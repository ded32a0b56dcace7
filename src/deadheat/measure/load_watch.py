"""`LoadWatch`: what the load hosts showed during one trial, if they are other machines."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.host import ENDS_ONLY_S, Completed, Sample
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import judge_load_host
from deadheat.measure.network_counters import LOAD, increases
from deadheat.measure.world import LoadSide, World
from deadheat.store import Gate


@dataclass(frozen=True, slots=True)
class LoadReadings:
    """The samples of each load host at both ends of a trial; none on one machine."""

    by_host: Sequence[tuple[LoadSide, Sequence[Sample]]]

    def network(self) -> Counter[str]:
        """The increase of each network counter, summed over the load hosts."""
        total = Counter[str]()
        for _, samples in self.by_host:
            total.update(increases(samples, LOAD))
        return total

    def gates(self, spec: LoadSpec, result: LoadResult, generator: Completed) -> list[Gate]:
        """The machine's gates of each load host. How much each of several used is not known."""
        is_only_one = len(self.by_host) == 1
        return [
            gate
            for side, samples in self.by_host
            for gate in judge_load_host(
                Evidence(spec, result, generator, samples, side.cpus, loads_only=True), is_only_one
            )
        ]


class LoadWatch:
    """Begins with a trial."""

    def __init__(self, world: World) -> None:
        sides = () if world.beside else world.loads
        self._watches = [(side, side.host.watch([], ENDS_ONLY_S)) for side in sides]

    def end(self) -> LoadReadings:
        return LoadReadings([(side, side.host.unwatch(watch)) for side, watch in self._watches])
