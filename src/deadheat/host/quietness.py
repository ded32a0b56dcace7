"""How quiet a machine is: what others take of its CPUs while nothing of ours runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from deadheat import numbers
from deadheat.host.base import ENDS_ONLY_S, Host, Sample
from deadheat.host.cpu_time import cpu_time

READING_S = 1.0
OTHERS_SHARE_MAX = 0.05  # as the gate `neighbor`
STEAL_SHARE_MAX = 0.01  # as the gate `steal`


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

    @classmethod
    def between(cls, first: Sample, last: Sample, cpus: Sequence[int]) -> Self | None:
        """The reading of two samples; None if they share no CPU."""
        if (time := cpu_time(first, last, cpus)) is None:
            return None
        waiting_share = None
        if first.pressure_cpu_us is not None and last.pressure_cpu_us is not None:
            waiting_us = last.pressure_cpu_us - first.pressure_cpu_us
            waiting_share = waiting_us / 1e6 / time.elapsed_s
        return cls(
            others_share=time.tasks_s / time.capacity_s,
            steal_share=time.steal_share,
            waiting_share=waiting_share,
            tick_share=time.tick_share,
        )

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
    samples = host.unwatch(watch)
    return Quietness.between(samples[0], samples[-1], cpus)
