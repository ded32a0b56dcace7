"""Decay: the rate of each trial of a start, in percent of that start's first trial."""

import math
from collections import defaultdict
from collections.abc import Sequence

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import Cell, RunView
from deadheat.report.picture import lines, svg
from deadheat.report.picture.footer import with_footer
from deadheat.report.picture.lines import Axis, Line

CURVES_MAX = 12
DECAYED = 0.9
TICKS = 8


def draw(view: RunView, analysis: Analysis) -> str | None:
    """The twelve servers that lost most; None if no start has two trials."""
    if not analysis.levels:
        return None
    shares_by_name = [
        (standing.name, shares(standing.cell)) for standing in analysis.main.standings
    ]
    by_loss = sorted(
        (pair for pair in shares_by_name if len(pair[1]) > 1), key=lambda pair: pair[1][-1]
    )
    if not by_loss:
        return None
    shown = [
        Line(
            name=f"{100 * share[-1]:.0f} % {name}",
            points=tuple((float(trial), 100 * each) for trial, each in enumerate(share, start=1)),
            color=svg.PALETTE[1] if share[-1] < DECAYED else svg.MUTED,
        )
        for name, share in by_loss[:CURVES_MAX]
    ]
    decayed = sum(share[-1] < DECAYED for _, share in by_loss)
    of = format.count(len(by_loss), "server")
    title = f"{decayed or 'None'} of {of} ended a start more than 10 % below its first trial"
    parts = lines.plane(title, _across(shown), _up(shown), shown)
    return with_footer(view, analysis, title, parts, lines.HEIGHT + 16)


def shares(cell: Cell) -> tuple[float, ...]:
    """For each trial, the geometric mean over starts of its rate over the start's first rate.

    Ends with the start that has the fewest trials.
    """
    starts: defaultdict[int, list[float]] = defaultdict(list)
    for trial in cell.trials:
        if trial.measured and trial.rate_per_s is not None:
            starts[trial.invocation].append(math.log(trial.rate_per_s))
    trials = zip(*starts.values(), strict=False)
    first = [logs[0] for logs in starts.values()]
    return tuple(
        math.exp(sum(x - x0 for x, x0 in zip(logs, first, strict=True)) / len(first))
        for logs in trials
    )


def _across(shown: Sequence[Line]) -> Axis:
    most = max(len(line.points) for line in shown)
    every = max(1, round(most / TICKS))
    return Axis(
        label="trial since the start",
        scale=lambda trial: (trial - 1) / (most - 1 or 1),
        ticks=[(float(trial), str(trial)) for trial in range(1, most + 1, every)],
    )


def _up(shown: Sequence[Line]) -> Axis:
    most = max(100.0, *(share for line in shown for _, share in line.points))
    return Axis(
        label="% of the first trial",
        scale=lambda share: share / most,
        ticks=[(float(share), str(share)) for share in range(0, int(most) + 1, 20)],
    )
