"""Decay: the rate of each trial of a start, in percent of that start's first trial.

Where controls ran in the same trials, what they explain is divided out.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import Cell, RunView
from deadheat.report.picture import lines, svg
from deadheat.report.picture.footer import with_footer
from deadheat.report.picture.lines import Axis, Line

CURVES_MAX = 12
DECAYED = 0.9
COLLAPSED = 0.6  # of the first trial: no noise, even of a few trials
ALARM_FEWEST = 6  # trials of a start: a few noisy ones are no alarm
LAST = 3  # trials that all have to be below
TICKS = 8


def draw(view: RunView, analysis: Analysis) -> str | None:
    """The twelve servers that lost most; None if no start has two trials."""
    if not analysis.levels:
        return None
    controls = _control_shares(view, analysis.main.connections)
    shares_by_name = [
        (standing.name, _beside(shares(standing.cell), controls))
        for standing in analysis.main.standings
    ]
    by_loss = sorted(
        (pair for pair in shares_by_name if len(pair[1]) > 1), key=lambda pair: pair[1][-1]
    )
    if not by_loss:
        return None
    shown = [
        Line(
            name=f"{numbers.percent(share[-1], 0)} {name}",
            points=tuple((float(trial), 100 * each) for trial, each in enumerate(share, start=1)),
            color=svg.PALETTE[1] if fell(share) else svg.MUTED,
        )
        for name, share in by_loss[:CURVES_MAX]
    ]
    decayed = sum(fell(share) for _, share in by_loss)
    of = numbers.count(len(by_loss), "server")
    title = f"{decayed or 'None'} of {of} ended a start more than 10 % below its first trial"
    if controls:
        title += ", beside the controls"
    parts = lines.plane(title, _across(shown), _up(shown), shown)
    return with_footer(view, analysis, title, parts, lines.HEIGHT + 16)


def fell(share: Sequence[float]) -> bool:
    """Whether it ended below the limit for good: in its last trials, or far below."""
    if len(share) < ALARM_FEWEST:
        return share[-1] < COLLAPSED
    return max(share[-LAST:]) < DECAYED


def _control_shares(view: RunView, connections: int) -> tuple[float, ...]:
    """What the machine did: the geometric mean over the controls; empty without controls."""
    known = [
        share
        for control in view.controls
        if connections in control.cells and (share := shares(control.cells[connections]))
    ]
    return tuple(
        math.exp(math.fsum(map(math.log, at_trial)) / len(known))
        for at_trial in zip(*known, strict=False)
    )


def _beside(share: tuple[float, ...], controls: tuple[float, ...]) -> tuple[float, ...]:
    """The shares that the controls do not explain; as they are where no control was measured."""
    return tuple(
        each / (controls[trial] if trial < len(controls) else 1.0)
        for trial, each in enumerate(share)
    )


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
