"""How the rates of contenders changed between two runs: data, and a table."""

from collections.abc import Mapping

import numpy as np

from deadheat import numbers
from deadheat.measure.contender import REFERENCE
from deadheat.report.findings.analysis import valid_rates
from deadheat.report.findings.paired import mean_rate
from deadheat.report.model.view import Cell, RunView
from deadheat.stats.alpha_spending import Level
from deadheat.stats.distributions import Floats
from deadheat.stats.rate_matrix import rate_matrix
from deadheat.stats.relative_change import relative_changes
from deadheat.stats.unpaired import Change, change

MIN_NAME_WIDTH = 24


def changes(first: RunView, second: RunView, connections: int) -> dict[str, Change]:
    """The change of each contender and control that has a rate in both runs.

    All intervals hold jointly at 95 %. The invocation is the unit (see `stats.unpaired`).
    """
    sides = [_rates(view, connections) for view in (first, second)]
    names = [name for name in sides[0] if name in sides[1]]
    alpha = Level(comparisons=max(len(names), 1)).alpha
    return {name: change(sides[0][name], sides[1][name], alpha) for name in names}


def changes_beside_the_others(
    first: RunView, second: RunView, connections: int
) -> dict[str, Change]:
    """The change of each contender of both runs, beside the others of both.

    Empty unless both are races in slices with two contenders in common. All intervals hold jointly
    at 95 % (see `stats.relative_change`).
    """
    if connections not in first.sliced or connections not in second.sliced:
        return {}
    levels = (first.sliced[connections], second.sliced[connections])
    contenders = {contender.name for contender in first.contenders}
    names = [name for name in levels[0].names if name in levels[1].names and name in contenders]
    if len(names) < 2:
        return {}
    fits = [level.fit.estimate for level in levels]
    places = [np.array([level.names.index(name) for name in names]) for level in levels]
    alpha = Level(comparisons=len(names)).alpha
    relative = relative_changes(fits[0], fits[1], (places[0], places[1]), alpha)
    return dict(zip(names, relative, strict=True))


def table(
    first: RunView,
    second: RunView,
    connections: int,
    all_changes: Mapping[str, Change],
    beside: Mapping[str, Change],
) -> list[str]:
    """A line for each contender and control, and one on the machine."""
    cells = [
        {
            contender.name: contender.cells[connections]
            for contender in (*view.contenders, *view.controls)
            if connections in contender.cells
        }
        for view in (first, second)
    ]
    controls = {control.name for control in first.controls}
    width = max([MIN_NAME_WIDTH, *map(len, all_changes)])
    last = "beside the others [95 %]" if beside else "second / first [95 %]"
    ratio_head = f"{'ratio':>7}  " if beside else ""
    rates = "requests/s" if beside else "mean requests/s"
    lines = [f"{rates:{width}} {'first':>10} {'second':>10}  {ratio_head}{last}"]
    for name, ratio in all_changes.items():
        before, after = (
            _rate(view, by_name[name]) for view, by_name in zip((first, second), cells, strict=True)
        )
        line = f"{name:{width}} {numbers.rate(before):>10} {numbers.rate(after):>10}"
        if not beside:
            lines.append(f"{line}  {ratio_text(ratio)}")
            continue
        shown_ratio = after / before if before and after else ratio.ratio
        unmodeled = "a control" if name in controls else "not in the models of both runs"
        relative = ratio_text(beside[name]) if name in beside else unmodeled
        lines.append(f"{line}  {shown_ratio:>7.3f}  {relative}")
    if REFERENCE in all_changes:
        lines.append(_machine(all_changes[REFERENCE]))
    return lines


def ratio_text(ratio: Change) -> str:
    if not numbers.is_known(ratio.low, ratio.high):
        return f"{ratio.ratio:.3f}, no useful interval: too few fresh starts"
    return f"{ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def _rate(view: RunView, cell: Cell) -> float | None:
    """As in the report of the run; for a race of trials the mean, as its ratio is one of means."""
    is_sliced = cell.connections in view.sliced
    return cell.rate_per_s(view.aggregate) if is_sliced else mean_rate(cell)


def _machine(of_reference: Change) -> str:
    if not numbers.is_known(of_reference.low, of_reference.high):
        return (
            f"{REFERENCE} is a control that never changes; it had too few starts to say whether "
            "the machine changed"
        )
    if of_reference.known:
        return (
            f"{REFERENCE} is a control that never changes, but its rate did: the machine changed, "
            "which affects every row"
        )
    return (
        f"{REFERENCE} is a control that never changes, and its rate did not either: no change of "
        "the machine detected"
    )


def _rates(view: RunView, connections: int) -> dict[str, Floats]:
    """rates[invocation, block] by name, of those with a valid trial."""
    rates_by_place = {
        contender.name: valid_rates(contender.cells[connections])
        for contender in (*view.contenders, *view.controls)
        if connections in contender.cells
    }
    by_name = {name: by_place for name, by_place in rates_by_place.items() if by_place}
    rates = rate_matrix(by_name, {place for by_place in by_name.values() for place in by_place})
    return {name: rates[:, :, index] for index, name in enumerate(by_name)}
