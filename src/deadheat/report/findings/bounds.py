"""Contenders that outran the client: not ranked, and yet known to be faster than some that are.

Where the only doubt about a trial is that the load generator was near its own limit, the rate is a
lower bound of what the server does. If even that bound is separated from a slower contender's
rate, the order of these two is known.
"""

from collections.abc import Set
from dataclasses import dataclass

from deadheat.report.findings.analysis import Level, place_of, ranking_of
from deadheat.report.model.view import Cell, ContenderView, RunView, TrialView
from deadheat.stats.decision import Verdict
from deadheat.stats.rate_matrix import Place, rankable

CLIENT_LIMITS = frozenset({"client_cpu", "ceiling"})


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A contender whose bound beats the ranked ones in `beaten`, in their order.

    `ratio_low` is the lower end of its interval over the first of them.
    """

    contender: ContenderView
    beaten: tuple[str, ...]
    ratio_low: float


def at_least(view: RunView, level: Level) -> tuple[AtLeast, ...]:
    """Those that are not ranked for the client's limits alone, in the order of their rates."""
    if level.ranking is None:
        return ()
    ranked = {one.contender.name: one.cell for one in level.ranked}
    limited = {
        one.contender.name: one for one in level.standings if not one.ranked and _outran(one.cell)
    }
    if not limited:
        return ()
    cells = ranked | {name: one.cell for name, one in limited.items()}
    controls = {
        one.name: one.cells[level.connections]
        for one in view.controls
        if level.connections in one.cells
    }
    rates = {name: _rates(cell) for name, cell in (cells | controls).items()}
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    heats = max((heat for _, heat, _ in places), default=1)
    fit = rankable({name: [*rates[name]] for name in cells}, len(places) / heats)
    ranking = ranking_of(view, {name: rates[name] for name in fit}, rates, places)
    found = []
    for name, one in limited.items():
        separated = {
            pair.slower: pair
            for pair in ranking.pairs
            if pair.verdict is Verdict.SEPARATED and pair.faster == name
        }
        beaten = tuple(other for other in ranked if other in separated)
        if beaten:
            found.append(AtLeast(one.contender, beaten, separated[beaten[0]].ratio.low))
    return tuple(found)


def _outran(cell: Cell) -> bool:
    """Whether the client's limits are all that its trials failed."""
    return any(_limited(trial) for trial in cell.trials)


def _limited(trial: TrialView) -> bool:
    codes: Set[str] = {gate.code for gate in trial.gates_failed}
    return trial.measured and codes <= CLIENT_LIMITS


def _rates(cell: Cell) -> dict[Place, float]:
    return {
        place_of(trial): trial.rate_per_s
        for trial in cell.trials
        if _limited(trial) and trial.rate_per_s is not None
    }
