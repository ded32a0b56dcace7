"""Unranked contenders that are known to be faster than some ranked ones.

If the client's own limit is the only gate that a trial failed, its rate is a lower bound of what
the server can do. If even that bound is separated from a slower contender's rate, the order of
these two is known.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass

from deadheat.report.findings.analysis import (
    Level,
    Standing,
    place_of,
    ranking_of,
    sliced_ranking,
)
from deadheat.report.findings.client_limit import CLIENT_LIMITS, client_was_limit
from deadheat.report.model.view import Cell, ContenderView, RunView, TrialView
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Ranking
from deadheat.stats.rate_matrix import Place, rankable


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A contender that is faster than the ranked ones in `beaten`, which are in rank order.

    `ratio_low` is the lower end of the interval of its ratio to the first of them.
    """

    contender: ContenderView
    beaten: tuple[str, ...]
    ratio_low: float


def at_least(view: RunView, level: Level) -> tuple[AtLeast, ...]:
    """The contenders that only the client's limits keep unranked, in the order of their rates.

    Ranks the level once more, so the level keeps the result: each format asks several times.
    """
    if "at_least" not in level.kept:
        level.kept["at_least"] = _at_least(view, level)
    bounds: tuple[AtLeast, ...] = level.kept["at_least"]
    return bounds


def _at_least(view: RunView, level: Level) -> tuple[AtLeast, ...]:
    comparable = [level.lone] if level.lone is not None else level.ranked
    ranked = {standing.contender.name: standing.cell for standing in comparable}
    if not ranked:
        return ()
    limited = {
        standing.contender.name: standing
        for standing in level.standings
        if not standing.ranked and _outran_client(view, level, standing)
    }
    if not limited:
        return ()
    if level.connections in view.sliced:
        ranking = sliced_ranking(
            view, level.connections, view.sliced[level.connections], with_limited=True
        )
        return _bounds(ranking, limited, ranked)
    cells = ranked | {name: standing.cell for name, standing in limited.items()}
    controls = {
        control.name: control.cells[level.connections]
        for control in view.controls
        if level.connections in control.cells
    }
    rates = {name: _rates(cell) for name, cell in (cells | controls).items()}
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    heats = max((heat for _, heat, _ in places), default=1)
    names = rankable({name: [*rates[name]] for name in cells}, len(places) / heats)
    ranking = ranking_of(
        view, level.connections, {name: rates[name] for name in names}, rates, places
    )
    return _bounds(ranking, limited, ranked)


def _bounds(
    ranking: Ranking, limited: Mapping[str, Standing], ranked: Collection[str]
) -> tuple[AtLeast, ...]:
    bounds = []
    for name, standing in limited.items():
        separated = {
            pair.slower: pair
            for pair in ranking.pairs
            if pair.verdict is Verdict.SEPARATED and pair.faster == name
        }
        beaten = tuple(other for other in ranked if other in separated)
        if beaten:
            ratio_low = separated[beaten[0]].ratio.low
            bounds.append(AtLeast(standing.contender, beaten, ratio_low))
    return tuple(bounds)


def _outran_client(view: RunView, level: Level, standing: Standing) -> bool:
    """Whether the client was its limit, and some trial failed no other gate."""
    return client_was_limit(view, standing.contender, standing.cell) and (
        level.connections in view.sliced
        or any(_is_lower_bound(trial) for trial in standing.cell.trials)
    )


def _is_lower_bound(trial: TrialView) -> bool:
    codes: Set[str] = {gate.code for gate in trial.gates_failed}
    return trial.measured and codes <= CLIENT_LIMITS


def _rates(cell: Cell) -> dict[Place, float]:
    return {
        place_of(trial): trial.rate_per_s
        for trial in cell.trials
        if _is_lower_bound(trial) and trial.rate_per_s is not None
    }
