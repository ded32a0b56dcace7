"""The parts that several load hosts measured of one load, in the same window, as one result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deadheat.load.base import LoadResult, LoadSpec
from deadheat.load.pooling import add_up, combined, figures, mean, merged

LAG = "client_lag_us"
ROW_AT, ROW_SLACK_S = "at_s", 1e-6


def merge_parts(
    specs: Sequence[LoadSpec], parts: Sequence[LoadResult], skew_us: float
) -> LoadResult:
    """The whole load. `specs` says what part of it each host had.

    Counts and histograms add up exactly. Of what each host has a limit of (its busiest thread, its
    wait for a CPU), the worst counts. ValueError without a part.
    """
    if not parts:
        raise ValueError("no parts to merge")
    rate_per_s = sum(part.rate_per_s for part in parts)
    window_s = max(part.sending_s for part in parts)
    requests_ok = sum(part.requests_ok for part in parts)
    whole = combined(parts, requests_ok / rate_per_s if rate_per_s else window_s)
    lag = merged(parts, LAG) if LAG in whole.histograms else None
    return replace(
        whole,
        series=_rows([part.series for part in parts], window_s),
        connections_established=add_up([part.connections_established for part in parts]),
        connections_served=add_up([part.connections_served for part in parts]),
        jain_fairness=_jain(specs, parts),
        busiest_thread_share=_largest([part.busiest_thread_share for part in parts]),
        run_wait_share=_largest([part.run_wait_share for part in parts]),
        little_law_error=_little(specs, parts),
        offered_rate_per_s=add_up([part.offered_rate_per_s for part in parts]),
        client_lag_us_p99=figures(lag).get("p99"),
        window_s=window_s,
        paused_s=mean([part.paused_s for part in parts], parts),
        skew_us=skew_us,
    )


def _jain(specs: Sequence[LoadSpec], parts: Sequence[LoadResult]) -> float | None:
    """Jain's index (sum x)^2 / (n sum x^2) of all connections, from that of each part.

    The right answers of a part stand for its answers; with errors, which no valid trial has, the
    index is an approximation.
    """
    total, squares, connections = 0, 0.0, 0
    for spec, part in zip(specs, parts, strict=True):
        if not part.jain_fairness:
            return None
        total += part.requests_ok
        connections += spec.connections
        squares += part.requests_ok**2 / (spec.connections * part.jain_fairness)
    return total**2 / (connections * squares) if squares else None


def _little(specs: Sequence[LoadSpec], parts: Sequence[LoadResult]) -> float | None:
    """X R / N - 1 of all connections: its parts, each weighted by its connections."""
    weighted, connections = 0.0, 0
    for spec, part in zip(specs, parts, strict=True):
        if part.little_law_error is None:
            return None
        weighted += part.little_law_error * spec.connections
        connections += spec.connections
    return weighted / connections


def _rows(
    series: Sequence[Sequence[Mapping[str, Any]]], window_s: float
) -> list[Mapping[str, Any]]:
    """The rows of all parts: counts of the same interval add up, other figures are left out.

    The intervals count from the start of each part's own window. What came after the window is one
    row, because a part waits there for the others.
    """
    by_end: dict[float, dict[str, Any]] = {}
    for row in (row for rows in series for row in rows):
        late = row[ROW_AT] > window_s + ROW_SLACK_S
        counts = {n: v for n, v in row.items() if n != ROW_AT and isinstance(v, int)}
        merged = by_end.setdefault(math.inf if late else round(row[ROW_AT], 6), {})
        merged[ROW_AT] = min(merged.get(ROW_AT, math.inf), row[ROW_AT])
        for name, count in counts.items():
            merged[name] = merged.get(name, 0) + count
    return [by_end[end_s] for end_s in sorted(by_end)]


def _largest(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None
