"""What the data decide: at each level who ranks where, and who does not rank, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.report.view import Cell, ContenderView, RunView
from deadheat.report.words import count
from deadheat.stats.ranking import Ranking, Row, rank

VALID_SHARE_MIN = 0.5
MARGIN = 0.03
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Standing:
    """One contender at one level. `row` is its place; without one, `reason` says why."""

    contender: ContenderView
    cell: Cell
    row: Row | None
    reason: str | None

    @property
    def name(self) -> str:
        """As published where it stands for a published row."""
        return self.contender.label or self.contender.name


@dataclass(frozen=True, slots=True)
class Level:
    """One connection level: the ranked from the fastest to the slowest, then the others."""

    connections: int
    standings: tuple[Standing, ...]
    ranking: Ranking | None

    @property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(standing for standing in self.standings if standing.row is not None)

    @property
    def unranked(self) -> tuple[Standing, ...]:
        return tuple(standing for standing in self.standings if standing.row is None)


@dataclass(frozen=True, slots=True)
class Analysis:
    """All levels in the order asked for; tables are in the order of the last, the main one."""

    levels: tuple[Level, ...]
    blocks: int
    invocations: int
    block_s: float | None  # what a block took, its share of the starts included

    @property
    def main(self) -> Level:
        return self.levels[-1]


def analyse(view: RunView) -> Analysis:
    """Rank each level over its valid trials, by the run's own margin and confidence."""
    seen = {
        (trial.invocation, trial.block)
        for contender in (*view.rivals, *view.canaries)
        for cell in contender.cells.values()
        for trial in cell.trials
    }
    blocks = len(seen)
    return Analysis(
        levels=tuple(_level(view, connections) for connections in view.levels),
        blocks=blocks,
        invocations=len({invocation for invocation, _ in seen}),
        block_s=view.last_trial_at_s / blocks if blocks and view.last_trial_at_s else None,
    )


def _level(view: RunView, connections: int) -> Level:
    cells = {one.name: one.cells.get(connections, Cell(connections)) for one in view.rivals}
    blocks = _blocks([*cells.values()])
    reasons = {name: _unfit(cell, len(blocks)) for name, cell in cells.items()}
    fit = [name for name in cells if reasons[name] is None]
    ranking = _ranking(view, connections, [cells[name] for name in fit], fit) if fit else None
    rows = {row.name: row for row in ranking.rows} if ranking else {}
    standings = [
        Standing(one, cells[one.name], rows.get(one.name), _reason(reasons[one.name], rows, one))
        for one in view.rivals
    ]
    places = {name: place for place, name in enumerate(rows)}
    standings.sort(key=lambda s: (places.get(s.contender.name, len(places)), -_rate(view, s.cell)))
    return Level(connections, tuple(standings), ranking if rows else None)


def _ranking(
    view: RunView, connections: int, cells: Sequence[Cell], names: Sequence[str]
) -> Ranking:
    companions = [one for one in view.canaries if connections in one.cells]
    columns = [*cells, *(one.cells[connections] for one in companions)]
    stopping = view.stopping
    return rank(
        rates_of(columns),
        [*names, *(one.name for one in companions)],
        margin=stopping.get("margin", MARGIN),
        confidence=stopping.get("confidence", CONFIDENCE),
        share=view.conclusion.get("share", 1.0),
        companions=[one.name for one in companions],
    )


def rates_of(cells: Sequence[Cell]) -> np.ndarray:
    """rates[invocation, block, cell] in requests/s; NaN where there is no valid trial."""
    blocks = _blocks(cells)
    invocations = sorted({invocation for invocation, _ in blocks})
    places = {
        (invocation, block): (row, column)
        for row, invocation in enumerate(invocations)
        for column, block in enumerate(sorted(b for i, b in blocks if i == invocation))
    }
    longest = 1 + max(column for _, column in places.values())
    rates = np.full((len(invocations), longest, len(cells)), np.nan)
    for index, cell in enumerate(cells):
        for trial in cell.valid:
            rates[(*places[trial.invocation, trial.block], index)] = trial.rate_per_s
    return rates


def _blocks(cells: Sequence[Cell]) -> set[tuple[int, int]]:
    return {(trial.invocation, trial.block) for cell in cells for trial in cell.trials}


def _unfit(cell: Cell, blocks: int) -> str | None:
    """Why a contender cannot be ranked whatever the others did; None if it can."""
    if not cell.trials:
        return "not measured at this level"
    valid = len(cell.valid)
    if valid == 0:
        return f"none of its {count(len(cell.trials), 'trial')} is valid"
    if valid < VALID_SHARE_MIN * blocks:
        return f"only {valid} of {count(blocks, 'block')} hold a valid trial of it"
    return None


def _reason(unfit: str | None, rows: dict[str, Row], one: ContenderView) -> str | None:
    if one.name in rows:
        return None
    return unfit or "an interval needs two blocks in common with another contender"


def _rate(view: RunView, cell: Cell) -> float:
    return cell.rate_per_s(view.aggregate) or 0.0
