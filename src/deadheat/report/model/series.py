"""`Series`: what happened within one trial, as columns short enough for a page."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat.report.model.shape import SHAPE, Finite

WINDOWS_MAX = 60
LOADED_FEWEST = 4  # samples of CPU use: the first and the last also cover time without load

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Series:
    """Within one trial: the generator's windows, and the server's CPU and memory, as columns.

    Times are from the trial's beginning. A rate is the mean of the window that ends there; CPU
    use is the mean since the value before, and 1 is one CPU. A trial that is too short for such
    values, or made of slices, has one value: its CPU use under load, and its peak memory.
    """

    __pydantic_config__ = SHAPE

    rate_at_s: tuple[Finite, ...]
    rate_per_s: tuple[Finite, ...]
    usage_at_s: tuple[Finite, ...]
    cpu_cores: tuple[Finite, ...]
    memory_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Overall:
    """A whole trial: its time under load, the CPUs that the server used in it, its peak memory."""

    elapsed_s: float
    cpus_used: float
    memory_peak_bytes: int


def series(load: Sequence[Row], machine: Sequence[Row], overall: Overall | None = None) -> Series:
    """From the stored rows `load` and `machine` of one trial; either may be empty.

    The server's CPU use is shown for time under load only, so it agrees with the trial's figure.
    """
    rates = _rates(load)
    usage = _usage(machine)
    if len(usage) >= LOADED_FEWEST:
        usage = usage[1:-1]
    elif overall is not None:
        usage = [(overall.elapsed_s, round(overall.cpus_used, 3), overall.memory_peak_bytes)]
    else:
        usage = []
    return Series(
        rate_at_s=tuple(at_s for at_s, _ in rates),
        rate_per_s=tuple(rate for _, rate in rates),
        usage_at_s=tuple(at_s for at_s, _, _ in usage),
        cpu_cores=tuple(cores for _, cores, _ in usage),
        memory_bytes=tuple(memory for _, _, memory in usage),
    )


def _rates(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Windows joined until there are at most `WINDOWS_MAX`.

    The fragment after the last full window is left out: the last requests in flight end in it.
    """
    widths_s = [row["at_s"] - at_s for at_s, row in zip(_befores(rows), rows, strict=True)]
    full_s = max(widths_s, default=0.0)
    whole = [
        (row["at_s"], row["ok"], width_s)
        for row, width_s in zip(rows, widths_s, strict=True)
        if width_s > full_s / 2
    ]
    step = max(1, math.ceil(len(whole) / WINDOWS_MAX))
    if step == 1:  # the usual case; a run may have tens of thousands
        return [(round(at_s, 3), round(ok / width_s, 1)) for at_s, ok, width_s in whole]
    ends_s, answers, whole_s = zip(*whole, strict=True)
    joined = []
    for first in range(0, len(whole), step):
        part = slice(first, first + step)
        rate = sum(answers[part]) / sum(whole_s[part])
        joined.append((round(ends_s[part][-1], 3), round(rate, 1)))
    return joined


def _befores(rows: Sequence[Row]) -> list[float]:
    return [0.0, *(row["at_s"] for row in rows[:-1])][: len(rows)]


def _usage(rows: Sequence[Row]) -> list[tuple[float, float, int]]:
    """Differences of the server's CPU time between the samples that have it."""
    read = [(row["at_s"], next(iter(row["usage"].values()))) for row in rows if row["usage"]]
    step = max(1, math.ceil((len(read) - 1) / WINDOWS_MAX))
    read = [*read[:-1:step], *read[-1:]]
    return [
        (
            round(at_s - rows[0]["at_s"], 3),
            round((now["cpu_s"] - before["cpu_s"]) / (at_s - before_s), 3),
            now["memory_bytes"],
        )
        for (before_s, before), (at_s, now) in itertools.pairwise(read)
        if at_s > before_s
    ]
