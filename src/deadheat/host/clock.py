"""The clock of CPUs under load, as the samples of a watch tell it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from deadheat.host.base import Sample
from deadheat.host.cpu_time import cpu_time

BUSY_SHARE_MIN = 0.5


def busy_khz(samples: Sequence[Sample], cpus: Iterable[int]) -> list[int]:
    """Every clock read of those of `cpus` that had been busy since the sample before, in kHz.

    The first and the last sample are taken outside of the load and are left out. An idle CPU's
    clock is the governor's choice and says nothing. Empty where no clock can be read.
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
