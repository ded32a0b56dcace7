"""`Distribution`: latencies of many trials as one, read from their merged histograms."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deadheat.stats.histogram import merge
from deadheat.store import StoreError

QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


@dataclass(frozen=True, slots=True)
class Distribution:
    """Quantiles in microseconds by name (`p50`, `p99`, `p99_9`); what is not there is not known.

    `merged` tells quantiles of all requests together from medians of what a foreign load
    generator said of each trial.
    """

    requests: int = 0
    quantiles_us: Mapping[str, float] = field(default_factory=dict)
    mean_us: float | None = None
    max_us: float | None = None
    merged: bool = True

    def __getitem__(self, name: str) -> float | None:
        return self.quantiles_us.get(name)


def of_histograms(encoded: Iterable[str]) -> Distribution:
    """One distribution of all trials' HdrHistograms (V2, base64), which count microseconds.

    A quantile q is left out below 100 / (1 - q) requests. Raises `StoreError` for text that is
    no histogram.
    """
    try:
        latency = merge(encoded)
    except ValueError as error:
        raise StoreError(f"a stored histogram cannot be read: {error}") from error
    if latency.count == 0:
        return Distribution()
    quantiles = {name: latency.quantile_us(q) for name, q in QUANTILES.items()}
    return Distribution(
        requests=latency.count,
        quantiles_us={name: float(us) for name, us in quantiles.items() if us is not None},
        mean_us=float(latency.histogram.get_mean_value()),
        max_us=float(latency.histogram.get_max_value()),
    )


def of_summaries(summaries: Iterable[Mapping[str, Any]], requests: int) -> Distribution:
    """Medians over trials of what their generator printed, where it keeps no histogram."""
    known = list(summaries)
    figures = {}
    for name in (*QUANTILES, "mean", "max"):
        told = [each[name] for each in known if each.get(name) is not None]
        if told:
            figures[name] = float(statistics.median(told))
    return Distribution(
        requests=requests,
        quantiles_us={name: figures[name] for name in QUANTILES if name in figures},
        mean_us=figures.get("mean"),
        max_us=figures.get("max"),
        merged=False,
    )
