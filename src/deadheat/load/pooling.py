"""Several results of one load as one: counts add up, histograms merge exactly."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    return replace(
        combined(results, math.fsum(result.elapsed_s for result in results)),
        series=_joined(results),
        connections_established=_least([result.connections_established for result in results]),
        connections_served=_least([result.connections_served for result in results]),
        jain_fairness=mean([result.jain_fairness for result in results], results),
        busiest_thread_share=mean([result.busiest_thread_share for result in results], results),
        run_wait_share=mean([result.run_wait_share for result in results], results),
        little_law_error=mean([result.little_law_error for result in results], results),
        offered_rate_per_s=results[0].offered_rate_per_s,
        client_lag_us_p99=max(
            (result.client_lag_us_p99 for result in results if result.client_lag_us_p99),
            default=None,
        ),
        skew_us=mean([result.skew_us for result in results], results),
        window_s=math.fsum(result.sending_s for result in results),
        paused_s=add_up([result.paused_s for result in results]),
        too_short_to_gather_share=mean(
            [result.too_short_to_gather_share for result in results], results
        ),
    )


def combined(parts: Sequence[LoadResult], elapsed_s: float) -> LoadResult:
    """What follows from the parts however they lie in time, which took `elapsed_s` together.

    Counts add up, histograms merge exactly, and a limit keeps its worst reading. Fields that depend
    on how the parts lie in time have their defaults.
    """
    requests_ok = sum(part.requests_ok for part in parts)
    errors: Counter[str] = Counter()
    for part in parts:
        errors.update(part.errors)
    names = sorted({name for part in parts for name in part.histograms})
    latencies = {name: merged(parts, name) for name in names}
    return LoadResult(
        generator=parts[0].generator,
        version=parts[0].version,
        rate_per_s=requests_ok / elapsed_s if elapsed_s else 0.0,
        requests_ok=requests_ok,
        elapsed_s=elapsed_s,
        errors=dict(errors),
        service_us=figures(latencies.get("service_us")),
        response_us=figures(latencies.get("response_us")),
        first_byte_us=figures(latencies.get("first_byte_us")),
        histograms={name: latency.encoded for name, latency in latencies.items()},
        requests_sent_in_all=add_up([part.requests_sent_in_all for part in parts]),
        client_cpu_s=add_up([part.client_cpu_s for part in parts]),
        limits=worst_limits(parts),
        bytes_in=add_up([part.bytes_in for part in parts]),
        longest_pause_us=_most([part.longest_pause_us for part in parts]),
        retransmits=add_up([part.retransmits for part in parts]),
        spurious_retransmits=add_up([part.spurious_retransmits for part in parts]),
        out_of_order=add_up([part.out_of_order for part in parts]),
    )


def merged(parts: Sequence[LoadResult], histogram: str) -> Latency:
    """One histogram of all parts that have it; at least one has."""
    return merge([part.histograms[histogram] for part in parts if histogram in part.histograms])


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
        before_s += result.sending_s
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


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _least(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None
