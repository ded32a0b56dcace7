"""The clock frequency of CPUs under load, from the samples of a watch."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from deadheat.host.base import Sample
from deadheat.host.cpu_time import cpu_time

BUSY_SHARE_MIN = 0.5


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
