"""What the data decide: at each level who ranks where, and who does not rank, and why."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from deadheat.report.format import count
from deadheat.report.model.view import Cell, ContenderView, RunView, TrialView
from deadheat.stats.distributions import Floats
from deadheat.stats.ranking import Ranking, Row, rank
from deadheat.stats.rate_matrix import Place, rankable, tableau

MARGIN = 0.03
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Standing:
    """One contender at one level: its place in the order, or the reason why it has none.

    `row` without a rank is a ratio without an interval.
    """

    contender: ContenderView
    cell: Cell
    row: Row | None
    reason: str | None

    @property
    def name(self) -> str:
        """As published where it stands for a published row."""
        return self.contender.label or self.contender.name

    @property
    def ranked(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Level:
    """One connection level: the ranked from the fastest to the slowest, then the others."""

    connections: int
    standings: tuple[Standing, ...]
    ranking: Ranking | None

    @property
    def served(self) -> bool:
        return any(trial.measured for one in self.standings for trial in one.cell.trials)

    @property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(standing for standing in self.standings if standing.ranked)


@dataclass(frozen=True, slots=True)
class Analysis:
    """All levels in the order asked for; tables are in the order of the main one."""

    levels: tuple[Level, ...]
    blocks: int
    invocations: int
    heats: int  # more than one where memory did not hold all contenders at once
    block_s: float | None  # what a block took, its share of the starts included

    @property
    def main(self) -> Level:
        """The last at which anything was measured: a level that nobody served has no order."""
        served = [level for level in self.levels if level.served]
        return (served or self.levels)[-1]


def analyze(view: RunView) -> Analysis:
    """Rank each level over its valid trials, by the run's own margin and confidence."""
    trials = [
        trial
        for contender in (*view.contenders, *view.controls)
        for cell in contender.cells.values()
        for trial in cell.trials
    ]
    seen = {place_of(trial) for trial in trials}
    blocks = len(seen)
    return Analysis(
        levels=tuple(_level(view, connections) for connections in view.levels),
        blocks=blocks,
        invocations=len({invocation for invocation, *_ in seen}),
        heats=len({trial.heat for trial in trials}),
        block_s=view.last_trial_at_s / blocks if blocks and view.last_trial_at_s else None,
    )


def _level(view: RunView, connections: int) -> Level:
    cells = {
        one.name: one.cells.get(connections, Cell(connections))
        for one in (*view.contenders, *view.controls)
    }
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    heats = max((trial.heat for cell in cells.values() for trial in cell.trials), default=1)
    rates = {name: _valid_rates(cell) for name, cell in cells.items()}
    fit = rankable({one.name: [*rates[one.name]] for one in view.contenders}, len(places) / heats)
    ranking = ranking_of(view, {name: rates[name] for name in fit}, rates, places) if fit else None
    rows = {row.name: row for row in ranking.rows} if ranking else {}
    standings = [
        Standing(
            contender=one,
            cell=cells[one.name],
            row=rows.get(one.name),
            reason=None
            if one.name in rows and _has_intervals(ranking)
            else _why_unranked(cells[one.name], places, one.name in fit),
        )
        for one in view.contenders
    ]
    order = {name: place for place, name in enumerate(rows)}
    standings.sort(
        key=lambda standing: (
            order.get(standing.contender.name, len(order)),
            -(standing.cell.rate_per_s(view.aggregate) or 0.0),
        )
    )
    return Level(connections, tuple(standings), ranking if _has_intervals(ranking) else None)


def ranking_of(
    view: RunView,
    contenders: Mapping[str, Mapping[Place, float]],
    rates: Mapping[str, Mapping[Place, float]],
    places: Set[Place],
) -> Ranking:
    """The rivals' ranking, with the canaries as companions of the same blocks."""
    controls = {one.name: rates[one.name] for one in view.controls if one.name in rates}
    columns = {**contenders, **controls}
    stopping = view.stopping
    return rank(
        tableau(columns, places),
        list(columns),
        margin=stopping.get("margin", MARGIN),
        confidence=stopping.get("confidence", CONFIDENCE),
        share=view.conclusion.get("share", 1.0),
        controls=list(controls),
    )


def _has_intervals(ranking: Ranking | None) -> bool:
    """Whether any two contenders can be compared; one alone is first without comparison."""
    if ranking is None:
        return False
    return len(ranking.rows) == 1 or any(math.isfinite(pair.ratio.high) for pair in ranking.pairs)


def rates_of(view: RunView, names: Sequence[str], connections: int) -> Floats:
    """rates[start, block, name] at one level; NaN where there is no valid trial.

    `KeyError` for a name that the run does not have.
    """
    contenders = {one.name: one for one in (*view.contenders, *view.controls)}
    cells = {name: contenders[name].cells.get(connections, Cell(connections)) for name in names}
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    return tableau({name: _valid_rates(cell) for name, cell in cells.items()}, places)


def _valid_rates(cell: Cell) -> dict[Place, float]:
    return {place_of(t): t.rate_per_s for t in cell.valid if t.rate_per_s is not None}


def place_of(trial: TrialView) -> Place:
    return trial.invocation, trial.heat, trial.block


def _why_unranked(cell: Cell, places: Set[Place], fit: bool) -> str:
    if not cell.trials:
        return "not measured at this level"
    if not cell.valid:
        trials = len(cell.trials)
        return f"none of its {trials:,} trials is valid" if trials > 1 else "its trial is not valid"
    if not fit:
        heats = {trial.heat for trial in cell.trials}
        blocks = sum(heat in heats for _, heat, _ in places)
        return f"only {len(cell.valid)} of {count(blocks, 'block')} hold a valid trial of it"
    return "too few blocks or invocations in common with the others for an interval"
