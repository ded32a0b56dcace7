"""The report as CSV: a row for each contender and level, raw figures, units in the header."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from deadheat.report.analysis import Analysis, Level, Standing
from deadheat.report.scaling import Gain, curves
from deadheat.report.tables import memory_peak_bytes
from deadheat.report.view import RunView


def write(view: RunView, analysis: Analysis) -> str:
    """One line a standing, all levels; an empty field is a figure that is not known."""
    rows = [row for level in analysis.levels for row in _level(view, level)]
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _level(view: RunView, level: Level) -> Iterator[dict[str, Any]]:
    points = (point for curve in curves(view, level) for point in curve.points)
    gains = {point.standing.contender.name: point.gain for point in points}
    for standing in level.standings:
        yield _row(view, level, standing, gains.get(standing.contender.name))


def _row(view: RunView, level: Level, standing: Standing, gain: Gain | None) -> dict[str, Any]:
    contender, cell, row = standing.contender, standing.cell, standing.row
    slowest, fastest = cell.spread_per_s or (None, None)
    ratio = row.ratio_to_leader if row else None
    return {
        "run": view.run_id,
        "connections": level.connections,
        "name": contender.name,
        "label": contender.label,
        "server": contender.server,
        "setting": contender.setting,
        "language": contender.language,
        "framework": contender.framework,
        "version": contender.version,
        "workers": contender.workers,
        "rank_low": row.rank_low if row and standing.ranked else None,
        "rank_high": row.rank_high if row and standing.ranked else None,
        "not_ranked_because": standing.reason,
        f"rate_per_s_{view.aggregate}": cell.rate_per_s(view.aggregate),
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
        "memory_peak_bytes": memory_peak_bytes(standing),
        "errors": cell.errors.total(),
        "trials": len(cell.trials),
        "trials_valid": len(cell.valid),
    }
