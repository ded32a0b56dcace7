"""Latencies and what happened within trials: `Distribution` and `Series`.

`SHAPE` makes a dataclass of the model a part of the JSON document as it is.
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field

from deadheat.errors import StoreError
from deadheat.stats.histogram import Latency, merge

Finite = Annotated[float, Field(allow_inf_nan=False)]
SHAPE = ConfigDict(extra="forbid", use_attribute_docstrings=True, revalidate_instances="always")
POINTS_PER_DECADE = 12
QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
WINDOWS_MAX = 60
LOADED_FEWEST = 4  # samples of CPU use: the first and the last also cover time without load
Row = Mapping[str, Any]
Usage = tuple[float, float, int]
"""When, the CPUs that the server used, and its memory in bytes."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Quantiles in microseconds by name (`p50`, `p99`, `p99_9`); a missing one is unknown.

    `merged`: the quantiles are of all requests together. Otherwise each is the median over trials
    of what another load generator printed.
    """

    requests: int = 0
    quantiles_us: Mapping[str, float] = field(default_factory=dict)
    mean_us: float | None = None
    max_us: float | None = None
    merged: bool = True
    curve: tuple[tuple[float, float], ...] = ()  # (q, microseconds), to the last supported q

    def __getitem__(self, name: str) -> float | None:
        return self.quantiles_us.get(name)


def merged(encoded: Iterable[str]) -> Latency:
    """All trials' HdrHistograms (V2, base64), which count microseconds, as one.

    Raises `StoreError` for text that is not a histogram.
    """
    try:
        return merge(encoded)
    except ValueError as error:
        raise StoreError(f"a stored histogram cannot be read: {error}") from error


def of_latency(latency: Latency) -> Distribution:
    """Its quantiles. A quantile q is left out below 100 / (1 - q) requests."""
    if latency.count == 0:
        return Distribution()
    quantiles = {name: latency.quantile_us(q) for name, q in QUANTILES.items()}
    return Distribution(
        requests=latency.count,
        quantiles_us={name: float(us) for name, us in quantiles.items() if us is not None},
        mean_us=latency.mean_us,
        max_us=float(latency.histogram.get_max_value()),
        curve=_curve(latency),
    )


def _curve(latency: Latency) -> tuple[tuple[float, float], ...]:
    """Quantiles equally spaced in log10(1 - q), up to the last that the requests support."""
    histogram = latency.histogram
    filled = np.flatnonzero(latency.counts)
    below = np.cumsum(latency.counts[filled])
    decades = math.log10(max(latency.count / 100, 1.0))
    shares = 10 ** -np.arange(0, decades + 1e-9, 1 / POINTS_PER_DECADE)
    places = np.searchsorted(below, np.ceil((1 - shares) * latency.count))
    indices = filled[np.minimum(places, len(filled) - 1)]
    values = [histogram.get_value_from_index(int(index)) for index in indices]
    highest = [float(histogram.get_highest_equivalent_value(value)) for value in values]
    return tuple(zip((1 - shares).round(7).tolist(), highest, strict=True))


def of_summaries(summaries: Sequence[Mapping[str, Any]], requests: int) -> Distribution:
    """Medians over trials of what a generator without histograms printed."""
    figures = {}
    for name in (*QUANTILES, "mean", "max"):
        values = [printed[name] for printed in summaries if printed.get(name) is not None]
        if values:
            figures[name] = float(statistics.median(values))
    return Distribution(
        requests=requests,
        quantiles_us={name: figures[name] for name in QUANTILES if name in figures},
        mean_us=figures.get("mean"),
        max_us=figures.get("max"),
        merged=False,
    )


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


def series(load: Sequence[Row], machine: Sequence[Row], overall: Usage | None = None) -> Series:
    """From the stored rows `load` and `machine` of one trial; either may be empty.

    `overall` is of the whole trial: its time under load, the mean of CPUs, the peak of memory.
    The server's CPU use is shown for time under load only, so it agrees with the trial's figure.
    """
    rates = _rates(load)
    usage, whole = _usage(machine), [overall] if overall is not None else []
    usage = usage[1:-1] if len(usage) >= LOADED_FEWEST else whole
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
    befores_s = [0.0, *(row["at_s"] for row in rows)]
    widths_s = [row["at_s"] - at_s for at_s, row in zip(befores_s, rows, strict=False)]
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


def _usage(rows: Sequence[Row]) -> list[Usage]:
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
