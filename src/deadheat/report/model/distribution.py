"""`Distribution`: latencies of many trials as one, read from their merged histograms."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deadheat.stats.histogram import Latency, merge
from deadheat.store import StoreError

POINTS_PER_DECADE = 12
QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


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
