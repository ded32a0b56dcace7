"""`Evidence`: what is known of one trial, and the form of the gates that are read of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from deadheat.host import Completed, Sample
from deadheat.host.clock import busy_khz
from deadheat.host.cpu_time import CpuTime, cpu_time
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.contender import NULL_SERVER, Contender
from deadheat.measure.world import World
from deadheat.store import Gate, Unit


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one trial.

    `cpus` are those of the server, and of the generator where it runs on the sampled host too
    (`beside`). `probes_client` marks the null server: loading it is how the client's own limit is
    found, so that limit is no fault there. `clock_khz` are the clocks of the server's busy CPUs;
    `clock_khz_max` is the highest median of these in its earlier trials at this level.
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

    @classmethod
    def of(
        cls,
        world: World,
        contender: Contender,
        spec: LoadSpec,
        result: LoadResult,
        generator: Completed,
        samples: Sequence[Sample],
        ceiling_per_s: float | None,
        clock_khz_max: float | None,
    ) -> Self:
        beside = world.load_host is world.server_host
        cpus = world.server_cpus + (world.load_cpus if beside else ())
        return cls(
            spec=spec,
            result=result,
            generator=generator,
            samples=samples,
            cpus=cpus,
            beside=beside,
            ceiling_per_s=ceiling_per_s,
            probes_client=contender.name == NULL_SERVER,
            clock_khz=busy_khz(samples, world.server_cpus),
            clock_khz_max=clock_khz_max,
        )

    @property
    def limits(self) -> dict[str, float]:
        """The readings of the limits that the engine says it reached, by their code."""
        return {limit["code"]: limit["reading"] for limit in self.result.limits}

    @property
    def cpu_time(self) -> CpuTime | None:
        return cpu_time(self.samples[0], self.samples[-1], self.cpus)

    @property
    def server_cpu_s(self) -> float | None:
        """What the server's trees used; None where one was not seen at both ends."""
        first, last = self.samples[0].usage, self.samples[-1].usage
        if not first or first.keys() != last.keys():
            return None
        return sum(last[process].cpu_s - first[process].cpu_s for process in first)

    def counted(self, counter: str) -> int | None:
        """How far a network counter went; None where the kernel has none."""
        first, last = self.samples[0].network, self.samples[-1].network
        return last[counter] - first[counter] if counter in first and counter in last else None


def at_most(code: str, reading: float, threshold: float, unit: Unit, advice: str) -> Gate:
    """A gate that a reading passes up to its threshold, inclusive."""
    return gate(code, reading <= threshold, reading, threshold, unit, advice)


def gate(
    code: str,
    passed: bool,
    reading: float | None,
    threshold: float | None,
    unit: Unit | None,
    advice: str,
) -> Gate:
    """A gate's advice is for those who failed it."""
    return Gate(code, passed, reading, threshold, unit, "" if passed else advice)
