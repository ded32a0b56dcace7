"""Several results of one load as one: counts add up, histograms merge exactly."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from deadheat.load.base import LoadResult
from deadheat.stats.histogram import Latency, merge

Number = TypeVar("Number", int, float)

QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


def pool(results: Sequence[LoadResult]) -> LoadResult:
    """The results of slices that follow one another on the same connections.

    Rates and shares are those of the time measured in all; a limit keeps its worst reading.
    ValueError without a result.
    """
    if not results:
        raise ValueError("no results to pool")
    first = results[0]
    elapsed_s = math.fsum(result.elapsed_s for result in results)
    requests_ok = sum(result.requests_ok for result in results)
    errors: Counter[str] = Counter()
    for result in results:
        errors.update(result.errors)
    histograms = {
        name: merge([result.histograms[name] for result in results if name in result.histograms])
        for name in {name for result in results for name in result.histograms}
    }
    return LoadResult(
        generator=first.generator,
        version=first.version,
        rate_per_s=requests_ok / elapsed_s if elapsed_s else 0.0,
        requests_ok=requests_ok,
        elapsed_s=elapsed_s,
        errors=dict(errors),
        service_us=figures(histograms.get("service_us")),
        response_us=figures(histograms.get("response_us")),
        first_byte_us=figures(histograms.get("first_byte_us")),
        histograms={name: latency.encoded for name, latency in histograms.items()},
        series=_joined(results),
        requests_sent_in_all=add_up([result.requests_sent_in_all for result in results]),
        connections_established=_least([result.connections_established for result in results]),
        connections_served=_least([result.connections_served for result in results]),
        jain_fairness=mean([result.jain_fairness for result in results], results),
        busiest_thread_share=mean([result.busiest_thread_share for result in results], results),
        run_wait_share=mean([result.run_wait_share for result in results], results),
        little_law_error=mean([result.little_law_error for result in results], results),
        client_cpu_s=add_up([result.client_cpu_s for result in results]),
        offered_rate_per_s=first.offered_rate_per_s,
        client_lag_us_p99=max(
            (result.client_lag_us_p99 for result in results if result.client_lag_us_p99),
            default=None,
        ),
        limits=worst_limits(results),
        bytes_in=add_up([result.bytes_in for result in results]),
        retransmits=add_up([result.retransmits for result in results]),
        spurious_retransmits=add_up([result.spurious_retransmits for result in results]),
        out_of_order=add_up([result.out_of_order for result in results]),
        skew_us=mean([result.skew_us for result in results], results),
    )


def figures(latency: Latency | None) -> dict[str, float | None]:
    """Microseconds; a quantile that too few requests support is None."""
    if latency is None or not latency.count:
        return {}
    return {
        "count": latency.count,
        "mean": latency.mean_us,
        "max": latency.max_us,
        **{name: latency.quantile_us(q) for name, q in QUANTILES.items()},
    }


def _joined(results: Sequence[LoadResult]) -> list[Mapping[str, Any]]:
    """The series one after another, as if nothing lay between them."""
    rows: list[Mapping[str, Any]] = []
    before_s = 0.0
    for result in results:
        rows += [{**row, "at_s": before_s + row["at_s"]} for row in result.series]
        before_s += result.elapsed_s
    return rows


def worst_limits(results: Sequence[LoadResult]) -> list[Mapping[str, Any]]:
    """Of each limit the worst reading."""
    worst: dict[str, Mapping[str, Any]] = {}
    for limit in (limit for result in results for limit in result.limits):
        before = worst.get(limit["code"])
        if before is None or limit["reading"] > before["reading"]:
            worst[limit["code"]] = limit
    return list(worst.values())


def mean(values: Sequence[float | None], results: Sequence[LoadResult]) -> float | None:
    """The mean of one value of each result, weighted by the time measured.

    None where a value is missing.
    """
    known = [(v, r.elapsed_s) for v, r in zip(values, results, strict=True) if v is not None]
    whole_s = math.fsum(elapsed_s for _, elapsed_s in known)
    if len(known) < len(values) or whole_s <= 0:
        return None
    return math.fsum(value * elapsed_s for value, elapsed_s in known) / whole_s


def add_up(values: Sequence[Number | None]) -> Number | None:
    """Their sum; None where a value is missing."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None


def _least(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None
