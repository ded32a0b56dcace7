"""Rates beside a ratio: of the same trials, and as means whose ratio is near the printed one.

A median beside a ratio of geometric means may contradict it: 4,708 and 5,045 beside 1.165.
"""

import math
from collections.abc import Iterable

from deadheat.report.findings.analysis import valid_rates
from deadheat.report.model.view import Cell


def paired_rates(a: Cell, b: Cell) -> tuple[float | None, float | None]:
    """Requests/s of two contenders: the model's, else geometric means over their common blocks.

    Without a common block, each has the mean of its own trials.
    """
    if a.model_rate_per_s is not None and b.model_rate_per_s is not None:
        return a.model_rate_per_s, b.model_rate_per_s
    rates_a, rates_b = valid_rates(a), valid_rates(b)
    common = rates_a.keys() & rates_b.keys()
    if not common:
        return mean_rate(a), mean_rate(b)
    return (
        _geometric_mean(rates_a[place] for place in common),
        _geometric_mean(rates_b[place] for place in common),
    )


def mean_rate(cell: Cell) -> float | None:
    """The geometric mean of the trials behind the figures, in requests/s.

    Each invocation counts once, as in the ratio of two runs.
    """
    by_invocation: dict[int, list[float]] = {}
    for trial in cell.counted:
        if trial.rate_per_s is not None:
            by_invocation.setdefault(trial.invocation, []).append(trial.rate_per_s)
    return _geometric_mean(_geometric_mean(rates) or 0.0 for rates in by_invocation.values())


def _geometric_mean(rates: Iterable[float]) -> float | None:
    logs = [math.log(rate) for rate in rates]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None
