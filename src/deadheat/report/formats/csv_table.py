"""The report as CSV: a row for each contender and load, with units in the header."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import astuple, fields
from typing import Any

from deadheat.foreign_text import spreadsheet_cell
from deadheat.report.findings.analysis import LevelAnalysis, analyze
from deadheat.report.findings.common_rate import WORDS, RateStanding, rate_levels
from deadheat.report.findings.footprint import footprint
from deadheat.report.findings.precision import limit_of
from deadheat.report.findings.scaling import curves
from deadheat.report.model.view import ContenderView, OfferedCell, RunView
from deadheat.store.json_columns import PerRequest

CONTENDER = ("name", "label", "server", "setting", "language", "framework", "version", "workers")
PER_REQUEST = tuple(f"{each.name}_per_request" for each in fields(PerRequest))
FIELDS = (
    *("run", "kind", "workload", "connections", "offered_rate_per_s", *CONTENDER),
    *("rank_low", "rank_high", "not_ranked_because"),
    *("aggregate", "rate_per_s", "rate_per_s_min", "rate_per_s_max"),
    *("ratio_to_leader", "ratio_low", "ratio_high", "ratio_to_fewest_workers"),
    *("ratio_to_fewest_workers_low", "ratio_to_fewest_workers_high"),
    *("service_us_p50", "service_us_p99", "response_us_p50", "response_us_p99"),
    *("response_us_p99_9", "server_cpu_us_per_request", "server_cpus_used", "limit"),
    *("p99_rank_low", "p99_rank_high", "price_of_a_million_requests"),
    *("database_cpu_us_per_request", "memory_peak_bytes", "errors"),
    *("ready_s", "memory_idle_bytes", "build_bytes", "dependencies", "processes", "threads"),
    *("trials", "trials_valid"),
    *PER_REQUEST,
)


def write(view: RunView) -> str:
    """A line for each standing at each level, then a line for each offered rate (open loop).

    A field is empty if the figure is unknown or does not apply to this kind of load.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {
            key: spreadsheet_cell(value) if isinstance(value, str) else value
            for key, value in row.items()
        }
        for each in view.by_workload
        for row in _rows(each)
    )
    return text.getvalue()


def _rows(view: RunView) -> Iterator[Mapping[str, Any]]:
    if view.races:
        for level in analyze(view).levels:
            yield from _level(view, level)
    at_rates = {
        (level.connections, level.offered_rate_per_s, measure, each.contender.name): each
        for level in rate_levels(view)
        for measure in WORDS
        for each in level.by(measure)
    }
    for contender in view.contenders:
        for cell in contender.offered:
            place = (cell.connections, cell.offered_rate_per_s)
            cost, wait = (at_rates.get((*place, m, contender.name)) for m in WORDS)
            yield {**_offered(view, contender, cell), **_ranked(cost, wait)}


def _level(view: RunView, level: LevelAnalysis) -> Iterator[Mapping[str, Any]]:
    points = (point for curve in curves(view, level) for point in curve.points)
    gains = {point.standing.contender.name: point.gain for point in points}
    for standing in level.standings:
        contender, cell = standing.contender, standing.cell
        row = standing.row if standing.ranked else None
        slowest, fastest = cell.spread_per_s or (None, None)
        ratio, gain = standing.ratio_to_leader, gains.get(contender.name)
        yield {
            **_contender(view, contender),
            "kind": "measure",
            "connections": level.connections,
            "rank_low": row.rank_low if row else None,
            "rank_high": row.rank_high if row else None,
            "not_ranked_because": standing.reason,
            "aggregate": view.aggregate,
            "rate_per_s": cell.rate_per_s(view.aggregate),
            "rate_per_s_min": slowest,
            "rate_per_s_max": fastest,
            "ratio_to_leader": ratio.ratio if ratio else None,
            "ratio_low": ratio.low if ratio and standing.ranked else None,
            "ratio_high": ratio.high if ratio and standing.ranked else None,
            "ratio_to_fewest_workers": gain.ratio if gain else None,
            "ratio_to_fewest_workers_low": gain.low if gain else None,
            "ratio_to_fewest_workers_high": gain.high if gain else None,
            "service_us_p50": cell.service["p50"],
            "service_us_p99": cell.service["p99"],
            "server_cpu_us_per_request": cell.server_cpu_us_per_request,
            "server_cpus_used": cell.server_cpus_used,
            "database_cpu_us_per_request": cell.database_cpu_us_per_request,
            "limit": limit_of(view, contender, cell),
            "errors": cell.errors.total(),
            "trials": len(cell.trials),
            "trials_valid": len(cell.valid),
            **_per_request(cell.per_request),
        }


def _ranked(cost: RateStanding | None, wait: RateStanding | None) -> Mapping[str, Any]:
    """What a race at common rates adds; nothing for other offered rates."""
    if cost is None or wait is None:
        return {}
    times = cost.times_least
    return {
        "rank_low": cost.row.rank_low if cost.row else None,
        "rank_high": cost.row.rank_high if cost.row else None,
        "not_ranked_because": cost.reason,
        "rate_per_s": cost.reached_per_s,
        "ratio_to_leader": times.ratio if times else None,
        "ratio_low": times.low if times else None,
        "ratio_high": times.high if times else None,
        "server_cpus_used": cost.cores,
        "p99_rank_low": wait.row.rank_low if wait.row else None,
        "p99_rank_high": wait.row.rank_high if wait.row else None,
        "price_of_a_million_requests": cost.price_per_million,
    }


def _per_request(parts: PerRequest | None) -> Mapping[str, Any]:
    return dict(zip(PER_REQUEST, astuple(parts), strict=True)) if parts is not None else {}


def _contender(view: RunView, contender: ContenderView) -> Mapping[str, Any]:
    return {
        "run": view.run_id,
        "workload": view.workload,
        **{name: getattr(contender, name) for name in CONTENDER},
        "memory_peak_bytes": contender.memory_peak_bytes,
        **_footprint(view, contender),
    }


def _footprint(view: RunView, contender: ContenderView) -> Mapping[str, Any]:
    figures = footprint(view, contender)
    if figures is None:
        return {}
    return {
        "ready_s": figures.ready_s.mean if figures.ready_s else None,
        "memory_idle_bytes": figures.idle_bytes.mean if figures.idle_bytes else None,
        "build_bytes": figures.build_bytes,
        "dependencies": figures.dependencies,
        "processes": figures.processes,
        "threads": figures.threads,
    }


def _offered(view: RunView, contender: ContenderView, cell: OfferedCell) -> Mapping[str, Any]:
    return {
        **_contender(view, contender),
        "kind": cell.kind,
        "connections": cell.connections,
        "offered_rate_per_s": cell.offered_rate_per_s,
        "aggregate": "mean",
        "rate_per_s": cell.achieved_rate_per_s,
        "response_us_p50": cell.response["p50"],
        "response_us_p99": cell.response["p99"],
        "response_us_p99_9": cell.response["p99_9"],
        "server_cpu_us_per_request": cell.server_cpu_us_per_request,
        "errors": sum(sum(trial.errors.values()) for trial in cell.trials),
        "trials": len(cell.trials),
        "trials_valid": cell.trials_valid,
        **_per_request(cell.per_request),
    }
