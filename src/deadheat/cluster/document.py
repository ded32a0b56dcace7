"""The combined result as JSON."""

import math
from typing import Any

from deadheat.cluster.combine import Combined, CombinedLevel
from deadheat.stats.known_interval import without_interval
from deadheat.stats.ratio import RatioInterval


def build(combined: Combined) -> dict[str, Any]:
    """The record as in `cluster.json`, with the levels; an unknown end of an interval is null."""
    return {
        **combined.record.model_dump(mode="json"),
        "faults": dict(combined.faults),
        "levels": [_level(combined, level) for level in combined.levels],
    }


def _level(combined: Combined, level: CombinedLevel) -> dict[str, Any]:
    ranking, fit = level.ranking, level.fit
    unknown = without_interval(ranking)
    return {
        "workload": level.workload,
        "connections": level.connections,
        "interaction_sd": fit.interaction_sd,
        "interaction_degrees_of_freedom": fit.interaction_degrees,
        "minimum_detectable_effect": _number(ranking.minimum_detectable_effect),
        "ranking": [
            {
                "name": row.name,
                "rank_low": row.rank_low,
                "rank_high": row.rank_high,
                "group": None if row.name in unknown else row.group,
                "rate_per_s": row.rate_median,
                "ratio_to_leader": _ratio(row.ratio_to_leader),
                "pairs": list(level.pairs_of[row.name]),
                "shared": row.name in combined.record.shared,
            }
            for row in ranking.rows
        ],
        "unranked": list(ranking.unranked),
        "client_limited": list(level.limited),
        "comparisons": [
            {
                "faster": pair.faster,
                "slower": pair.slower,
                "verdict": pair.verdict.value,
                "ratio": _ratio(pair.ratio),
            }
            for pair in ranking.neighbors
        ],
        "pair_speeds": [
            {"pair": speed.number, "runs": speed.runs, "ratio_to_first": _ratio(speed.ratio)}
            for speed in level.speeds
        ],
    }


def _ratio(ratio: RatioInterval) -> dict[str, Any]:
    return {
        "ratio": _number(ratio.ratio),
        "low": _number(ratio.low),
        "high": _number(ratio.high),
        "confidence": ratio.confidence,
        "method": ratio.method,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
