"""The ranking at each level: who ranks where, and why the others do not rank."""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deadheat.campaign.past import decided_on
from deadheat.report.format import count
from deadheat.report.model.slice_fit import ended_at_s
from deadheat.report.model.sliced import SlicedLevel
from deadheat.report.model.view import Cell, ContenderView, RunView, TrialView
from deadheat.stats.distributions import Floats
from deadheat.stats.model_ranking import pair_fits, rank_from_model
from deadheat.stats.pairs import PairFits, fit_pairs
from deadheat.stats.ranking import Ranking, Row, rank
from deadheat.stats.rate_matrix import Place, rankable, rate_matrix
from deadheat.stats.ratio import RatioInterval

MARGIN = 0.03
CONFIDENCE = 0.95
ALONE = "no other contender has a rate to compare with"


@dataclass(frozen=True, slots=True)
class Standing:
    """One contender at one level: its rank, or the reason why it has none.

    A `row` without a rank has a ratio without an interval.
    """

    contender: ContenderView
    cell: Cell
    row: Row | None
    reason: str | None

    @property
    def name(self) -> str:
        """The published row's name if the contender repeats one, else its own."""
        return self.contender.label or self.contender.name

    @property
    def ranked(self) -> bool:
        return self.reason is None

    @property
    def ratio_to_leader(self) -> RatioInterval | None:
        """None without another contender, because the rate relative to itself is always 1."""
        if self.row is None or self.reason == ALONE:
            return None
        return self.row.ratio_to_leader


@dataclass(frozen=True, slots=True)
class Level:
    """One connection level: the ranked standings, fastest first, then the others."""

    connections: int
    standings: tuple[Standing, ...]
    ranking: Ranking | None
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # of findings

    @property
    def served(self) -> bool:
        return any(trial.measured for standing in self.standings for trial in standing.cell.trials)

    @property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(standing for standing in self.standings if standing.ranked)

    @property
    def lone(self) -> Standing | None:
        """The only contender with a rate that counts: it has no rank."""
        comparable = [standing for standing in self.standings if standing.row is not None]
        return comparable[0] if len(comparable) == 1 else None


@dataclass(frozen=True, slots=True)
class Analysis:
    """All levels, in the order of the command line; tables follow the order of the main level."""

    levels: tuple[Level, ...]
    blocks: int
    invocations: int
    heats: int  # more than one if not all contenders fit into memory together
    block_s: float | None  # mean time for a block, its share of the starts included
    measured_share: float | None = None  # of the race's time

    @property
    def main(self) -> Level:
        """The last level at which anything was measured."""
        served = [level for level in self.levels if level.served]
        return (served or self.levels)[-1]


def analyze(view: RunView) -> Analysis:
    """Rank each level over its valid trials, with the run's margin and confidence."""
    trials = [
        trial
        for contender in (*view.contenders, *view.controls)
        for cell in contender.cells.values()
        for trial in cell.trials
    ]
    places = {place_of(trial) for trial in trials}
    blocks = len({trial.block for trial in trials}) if view.sliced else len(places)
    return Analysis(
        levels=tuple(_level(view, connections) for connections in view.levels),
        blocks=blocks,
        invocations=len({invocation for invocation, *_ in places}),
        heats=len({trial.heat for trial in trials}),
        block_s=view.last_trial_at_s / blocks if blocks and view.last_trial_at_s else None,
        measured_share=_measured_share(view, trials),
    )


def _measured_share(view: RunView, trials: Sequence[TrialView]) -> float | None:
    """The share of the race's time, from its start to its last trial, that was measured."""
    measured_s = math.fsum(trial.elapsed_s or 0.0 for trial in trials)
    end_s = max(_ends_s(view), default=0.0)
    return measured_s / end_s if measured_s > 0 and end_s > 0 else None


def _ends_s(view: RunView) -> Iterator[float]:
    """When trials ended. Those of slices that count are known together."""
    for contender in (*view.contenders, *view.controls):
        for connections, cell in contender.cells.items():
            known = connections in view.sliced
            yield from (ended_at_s(t) for t in cell.trials if not (known and t.valid))
    for level in view.sliced.values():
        yield level.slices.ended_at_s


def _level(view: RunView, connections: int) -> Level:
    if connections in view.sliced:
        return _sliced_level(view, connections, view.sliced[connections])
    cells = {
        contender.name: contender.cells.get(connections, Cell(connections))
        for contender in (*view.contenders, *view.controls)
    }
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    heats = max((trial.heat for cell in cells.values() for trial in cell.trials), default=1)
    rates = {name: valid_rates(cell) for name, cell in cells.items()}
    rankable_names = rankable(
        {contender.name: [*rates[contender.name]] for contender in view.contenders},
        len(places) / heats,
    )
    ranking = (
        ranking_of(view, connections, {n: rates[n] for n in rankable_names}, rates, places)
        if rankable_names
        else None
    )
    rows = {row.name: row for row in ranking.rows} if ranking else {}
    standings = [
        Standing(
            contender=contender,
            cell=cells[contender.name],
            row=rows.get(contender.name),
            reason=None
            if contender.name in rows and _has_intervals(ranking)
            else ALONE
            if [*rows] == [contender.name]
            else _why_unranked(cells[contender.name], places, contender.name in rankable_names),
        )
        for contender in view.contenders
    ]
    order = {name: place for place, name in enumerate(rows)}
    standings.sort(
        key=lambda standing: (
            order.get(standing.contender.name, len(order)),
            -(standing.cell.rate_per_s(view.aggregate) or 0.0),
        )
    )
    return Level(connections, tuple(standings), ranking if _has_intervals(ranking) else None)


def _sliced_level(view: RunView, connections: int, sliced: SlicedLevel) -> Level:
    """A level of a race in slices. A contender that outran the client has no rank."""
    ranking = sliced_ranking(view, connections, sliced)
    rows = {row.name: row for row in ranking.rows}
    comparable = _has_intervals(ranking)
    order = {name: place for place, name in enumerate(rows)}
    standings = []
    for contender in view.contenders:
        cell = contender.cells.get(connections, Cell(connections))
        reason = None
        if contender.name in sliced.client_gates:
            codes = ", ".join(gate.code for gate in sliced.client_gates[contender.name])
            reason = f"the client was its limit ({codes})"
        elif [*rows] == [contender.name]:
            reason = ALONE
        elif contender.name not in rows or not comparable:
            reason = _why_unranked(cell, set(), rankable=True)
        standings.append(Standing(contender, cell, rows.get(contender.name), reason))
    standings.sort(
        key=lambda standing: (
            order.get(standing.contender.name, len(order)),
            -(standing.cell.rate_per_s(view.aggregate) or 0.0),
        )
    )
    return Level(connections, tuple(standings), ranking if comparable else None)


def sliced_ranking(
    view: RunView, connections: int, sliced: SlicedLevel, with_limited: bool = False
) -> Ranking:
    """The ranking of the model; contenders that outran the client only on request."""
    aside = {control.name for control in view.controls}
    if not with_limited:
        aside |= set(sliced.client_gates)
    return rank_from_model(
        sliced.fit,
        sliced.names,
        margin=view.stopping.get("margin", MARGIN),
        confidence=view.stopping.get("confidence", CONFIDENCE),
        share=view.conclusion.get("share", 1.0),
        controls=[name for name in sliced.names if name in aside],
        decided=decided_on(view.conclusion, view.workload).get(connections),
    )


def fits_of(view: RunView, names: Sequence[str], connections: int) -> PairFits:
    """Every pair of these contenders at one level, in the order of `names`.

    Raises `KeyError` for a name that is not in the run.
    """
    if connections not in view.sliced:
        return fit_pairs(rates_of(view, names, connections))
    sliced = view.sliced[connections]
    places = np.array([sliced.names.index(name) for name in names])
    return pair_fits(sliced.fit, sliced.fit.robust).of(places)


def ranking_of(
    view: RunView,
    connections: int,
    contenders: Mapping[str, Mapping[Place, float]],
    rates: Mapping[str, Mapping[Place, float]],
    places: Set[Place],
) -> Ranking:
    """The contenders' ranking, with the controls measured in the same blocks."""
    controls = {
        control.name: rates[control.name] for control in view.controls if control.name in rates
    }
    columns = {**contenders, **controls}
    stopping = view.stopping
    return rank(
        rate_matrix(columns, places),
        list(columns),
        margin=stopping.get("margin", MARGIN),
        confidence=stopping.get("confidence", CONFIDENCE),
        share=view.conclusion.get("share", 1.0),
        controls=list(controls),
        decided=decided_on(view.conclusion, view.workload).get(connections),
    )


def _has_intervals(ranking: Ranking | None) -> bool:
    """Whether any two contenders can be compared. A rank needs another contender."""
    return ranking is not None and any(math.isfinite(pair.ratio.high) for pair in ranking.pairs)


def rates_of(view: RunView, names: Sequence[str], connections: int) -> Floats:
    """rates[invocation, block, name] at one level, requests/s; NaN where no trial is valid.

    Raises `KeyError` for a name that is not in the run.
    """
    contenders = {contender.name: contender for contender in (*view.contenders, *view.controls)}
    cells = {name: contenders[name].cells.get(connections, Cell(connections)) for name in names}
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    return rate_matrix({name: valid_rates(cell) for name, cell in cells.items()}, places)


def valid_rates(cell: Cell) -> dict[Place, float]:
    """Requests/s of each valid trial, by its place."""
    return {place_of(t): t.rate_per_s for t in cell.valid if t.rate_per_s is not None}


def place_of(trial: TrialView) -> Place:
    return trial.invocation, trial.heat, trial.block


def _why_unranked(cell: Cell, places: Set[Place], rankable: bool) -> str:
    if not cell.trials:
        return "not measured at this level"
    if not cell.valid:
        trials = len(cell.trials)
        return f"none of its {trials:,} trials is valid" if trials > 1 else "its trial is not valid"
    if not rankable:
        heats = {trial.heat for trial in cell.trials}
        blocks = sum(heat in heats for _, heat, _ in places)
        return f"only {len(cell.valid)} of {count(blocks, 'block')} have a valid trial of it"
    return "shares too few blocks or invocations with the others for an interval"
