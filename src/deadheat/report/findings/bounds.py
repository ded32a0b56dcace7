"""Unranked contenders that are known to be faster than some ranked ones.

The rate of a contender that outran the client is a lower bound of what it can do. If even that
bound is separated from a slower contender's rate, the order of these two is known.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from deadheat.report.findings.analysis import Level, Standing, ranking_at
from deadheat.report.model.view import ContenderView, RunView
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Ranking


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
        if view.outran_client(standing.contender.name, level.connections)
    }
    if not limited:
        return ()
    ranking = ranking_at(view, level.connections, with_limited=True)
    return _bounds(ranking, limited, ranked) if ranking is not None else ()


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
