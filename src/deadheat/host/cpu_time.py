"""CPU time between two samples, from the tick counters of the kernel."""

from collections.abc import Iterable
from dataclasses import dataclass

from deadheat.host.base import Sample

TICK_S = 0.01  # USER_HZ is 100 on every architecture the agent runs on


@dataclass(frozen=True, slots=True)
class CpuTime:
    """The time of some CPUs between two samples.

    Counters have whole ticks. Their resolution is one tick per CPU: `tick_share` of the capacity.
    """

    elapsed_s: float
    cpus: int
    tasks_s: float  # user, nice, system
    interrupts_s: float  # irq, softirq
    steal_s: float

    @property
    def capacity_s(self) -> float:
        return self.elapsed_s * self.cpus

    @property
    def steal_share(self) -> float:
        return self.steal_s / self.capacity_s

    @property
    def busy_share(self) -> float:
        return (self.tasks_s + self.interrupts_s) / self.capacity_s

    @property
    def tick_share(self) -> float:
        return TICK_S / self.elapsed_s


def cpu_time(first: Sample, last: Sample, cpus: Iterable[int]) -> CpuTime | None:
    """The time of those of `cpus` that both samples have; None if no time or no CPU is left."""
    common = set(cpus) & set(first.cpu_ticks) & set(last.cpu_ticks)
    elapsed_s = last.at_s - first.at_s
    if not common or elapsed_s <= 0:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = (
        sum(last.cpu_ticks[cpu][field] - first.cpu_ticks[cpu][field] for cpu in common) * TICK_S
        for field in range(8)
    )
    return CpuTime(elapsed_s, len(common), user + nice + system, irq + softirq, steal)
