"""The CPUs between samples: their time, their clock, and how quiet they are.

CPU time comes from the tick counters of the kernel. Quietness is what others take of the CPUs while
nothing of ours runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deadheat import numbers
from deadheat.host import ENDS_ONLY_S, Host, Sample

TICK_S = 0.01  # USER_HZ is 100 on every architecture the agent runs on
BUSY_SHARE_MIN = 0.5
READING_S = 1.0
OTHERS_SHARE_MAX = 0.05  # as the gate `neighbor`
STEAL_SHARE_MAX = 0.01  # as the gate `steal`


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


def busy_khz(samples: Sequence[Sample], cpus: Iterable[int]) -> list[int]:
    """The clock readings, in kHz, of those of `cpus` that were busy since the previous sample.

    The first and last sample are left out, because they are outside the load. So are idle CPUs,
    because the governor chooses their clock. Empty if the clock cannot be read.
    """
    return [
        now.cpu_khz[cpu]
        for before, now in pairwise(samples[:-1])
        for cpu in cpus
        if cpu in now.cpu_khz and _busy(before, now, cpu)
    ]


def _busy(before: Sample, now: Sample, cpu: int) -> bool:
    time = cpu_time(before, now, [cpu])
    return time is not None and time.busy_share >= BUSY_SHARE_MIN


@dataclass(frozen=True, slots=True)
class Quietness:
    """A reading of the CPUs that a race uses. Shares are of their time.

    `waiting_share` is the share of the time in which any task waited for a CPU (PSI). It is for
    information; `busy` follows from the CPU time, as the gates of a trial do.
    """

    others_share: float
    steal_share: float
    waiting_share: float | None
    tick_share: float  # the resolution of the CPU times

    @property
    def busy(self) -> bool:
        """Whether trials would fail the gates of the machine."""
        return (
            self.others_share > OTHERS_SHARE_MAX + self.tick_share
            or self.steal_share > STEAL_SHARE_MAX + self.tick_share
        )

    def __str__(self) -> str:
        readings = [
            f"other processes use {numbers.percent(self.others_share, 0)} of these CPUs",
            f"steal {numbers.percent(self.steal_share, 0)}",
        ]
        if self.waiting_share is not None:
            readings.append(f"tasks wait {numbers.percent(self.waiting_share, 0)} of the time")
        return f"the machine is {'busy' if self.busy else 'quiet'}: {', '.join(readings)}"


def read_quietness(host: Host, cpus: Sequence[int]) -> Quietness | None:
    """Watch the CPUs for a second; None if the host does not show them."""
    watch = host.watch([], ENDS_ONLY_S)
    host.sleep(READING_S)
    first, *_, last = host.unwatch(watch)
    if (time := cpu_time(first, last, cpus)) is None:
        return None
    waiting_share = None
    if first.pressure_cpu_us is not None and last.pressure_cpu_us is not None:
        waiting_us = last.pressure_cpu_us - first.pressure_cpu_us
        waiting_share = waiting_us / 1e6 / time.elapsed_s
    return Quietness(
        others_share=time.tasks_s / time.capacity_s,
        steal_share=time.steal_share,
        waiting_share=waiting_share,
        tick_share=time.tick_share,
    )
