"""`Evidence`: the readings of one trial from which gates are judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from deadheat.host import Completed, Sample
from deadheat.host.cpu_time import CpuTime, busy_khz, cpu_time
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.contender import Instance
from deadheat.measure.world import Link, World
from deadheat.store import Gate, Unit

LOAD = "load_"  # in front of the counters of a load host


def increases(samples: Sequence[Sample], front: str = "") -> dict[str, int]:
    """The increase of each counter from the first sample to the last; `front` goes before names."""
    first, last = samples[0].network, samples[-1].network
    counters = sorted(first.keys() & last.keys())
    return {f"{front}{counter}": last[counter] - first[counter] for counter in counters}


@dataclass(frozen=True, slots=True)
class Evidence:
    """The readings of one trial.

    `cpus` are those of the server, and those of the generator if it runs on the sampled host too
    (`beside`). `probes_client` marks the null server, which is loaded to find the client's limit,
    so reaching the limit is no fault. `clock_khz` are the clocks of the server's busy CPUs;
    `clock_khz_max` is the highest median of these in its earlier trials at this level.
    `workers_gone` counts the server's worker processes that ended; see `Workers`. `listen_drops`
    counts connections dropped during its own slices; None where the samples span its load alone.
    `loads_only` marks samples of a load host, on which no server runs.
    """

    spec: LoadSpec
    result: LoadResult
    generator: Completed
    samples: Sequence[Sample]
    cpus: Sequence[int]
    beside: bool = True
    ceiling_per_s: float | None = None
    probes_client: bool = False
    clock_khz: Sequence[int] = ()
    clock_khz_max: float | None = None
    workers_gone: int | None = None
    listen_drops: int | None = None
    link: Link | None = None
    window_s: float | None = None  # of one slice; None: the result has one window
    loads_only: bool = False

    @classmethod
    def of(
        cls,
        world: World,
        instance: Instance,
        spec: LoadSpec,
        result: LoadResult,
        generator: Completed,
        samples: Sequence[Sample],
    ) -> Self:
        """What one load showed by itself, without a ceiling and earlier trials."""
        beside, running = world.beside, instance.running
        cpus = [*world.server_cpus, *(world.load.cpus if beside else ())]
        cpus += running.cpus if running is not None else ()
        return cls(
            spec,
            result,
            generator,
            samples,
            cpus=tuple(dict.fromkeys(cpus)),
            beside=beside,
            probes_client=instance.contender.is_null_server,
            clock_khz=busy_khz(samples, world.server_cpus),
            link=world.link if instance.contender.role == "contender" else None,
        )

    @property
    def limits(self) -> dict[str, float]:
        """Code -> reading, for the limits that the engine reports."""
        return {limit["code"]: limit["reading"] for limit in self.result.limits}

    @property
    def cpu_time(self) -> CpuTime | None:
        return cpu_time(self.samples[0], self.samples[-1], self.cpus)

    @property
    def server_cpu_s(self) -> float | None:
        """CPU time of the server's process trees; None if a tree is not in both samples."""
        if self.loads_only:
            return 0.0
        first, last = self.samples[0].usage, self.samples[-1].usage
        if not first or first.keys() != last.keys():
            return None
        return sum(last[process].cpu_s - first[process].cpu_s for process in first)

    def counted(self, counter: str) -> int | None:
        """The increase of a network counter; None without samples or if the kernel lacks it."""
        return increases(self.samples).get(counter) if self.samples else None


def at_most(code: str, reading: float, threshold: float, unit: Unit, advice: str) -> Gate:
    """A gate that passes if the reading is at most the threshold."""
    return gate(code, reading <= threshold, reading, threshold, unit, advice)


def gate(
    code: str,
    passed: bool,
    reading: float | None,
    threshold: float | None,
    unit: Unit | None,
    advice: str,
) -> Gate:
    """A gate; its advice is kept only if it failed."""
    return Gate(code, passed, reading, threshold, unit, "" if passed else advice)
