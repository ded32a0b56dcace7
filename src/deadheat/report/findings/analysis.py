"""The ranking at each level: who ranks where, and why the others do not rank.

The rate of a contender that outran the client is a lower bound of what it can do. If even that
bound is separated from a slower contender's rate, the order of these two is known: `at_least`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from deadheat.numbers import count
from deadheat.protocol import Settle
from deadheat.report.model.slice_fit import ended_at_s
from deadheat.report.model.view import Cell, ContenderView, Memo, RunView, TrialView
from deadheat.stats.ranking.change import asking_slower
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.model_ranking import pair_fits, rank_from_model
from deadheat.stats.ranking.pairs import PairFits, Place, fit_pairs, rankable, rate_matrix
from deadheat.stats.ranking.ranks import Decided, Ranking, Row, rank, share_left, without_interval
from deadheat.stats.ranking.ratio import RatioInterval
from deadheat.workload import Level

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
class LevelAnalysis:
    """One connection level: the ranked standings, fastest first, then the others."""

    connections: int
    standings: tuple[Standing, ...]
    ranking: Ranking | None
    kept: Memo = field(default_factory=Memo, compare=False, repr=False)  # of findings

    @property
    def trials(self) -> list[TrialView]:
        return [trial for standing in self.standings for trial in standing.cell.trials]

    @property
    def served(self) -> bool:
        return any(trial.measured for standing in self.standings for trial in standing.cell.trials)

    @property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(standing for standing in self.standings if standing.ranked)

    @property
    def by_name(self) -> Mapping[str, tuple[int, Standing]]:
        """The place, from 0, and the standing of each contender."""
        return self.kept.once(
            "by_name",
            lambda: {
                standing.contender.name: (place, standing)
                for place, standing in enumerate(self.standings)
            },
        )

    @property
    def lone(self) -> Standing | None:
        """The only contender with a rate that counts: it has no rank."""
        comparable = [standing for standing in self.standings if standing.row is not None]
        return comparable[0] if len(comparable) == 1 else None


@dataclass(frozen=True, slots=True)
class Analysis:
    """All levels, in the order of the command line; tables follow the order of the main level."""

    levels: tuple[LevelAnalysis, ...]
    blocks: int
    invocations: int
    heats: int  # more than one if not all contenders fit into memory together
    block_s: float | None  # mean time for a block, its share of the starts included
    measured_share: float | None = None  # of the race's time

    @property
    def main(self) -> LevelAnalysis:
        """The last level at which anything was measured."""
        served = [level for level in self.levels if level.served]
        return (served or self.levels)[-1]


def analyze(view: RunView) -> Analysis:
    """Rank each level over its valid trials, with the run's margin and confidence.

    The view keeps the result: each format and each page asks for it.
    """
    first, *_ = view.by_workload
    return first.kept.once("analysis", lambda: _analyze(first))


def _analyze(view: RunView) -> Analysis:
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


def _level(view: RunView, connections: int) -> LevelAnalysis:
    """One level. A contender that outran the client, or has no interval, has no rank."""
    everyone = ranking = ranking_at(view, connections)
    rows = {row.name: row for row in ranking.rows} if ranking else {}
    apart = without_interval(ranking) if ranking else frozenset()
    comparable = ranking is not None and len(rows) > 1 and len(apart) < len(rows)
    if ranking is not None and comparable and apart:
        share = share_left(ranking, apart)
        ranking = ranking_at(view, connections, apart=apart, pairs_share=share)
        rows = {row.name: row for row in ranking.rows} if ranking else {}
    standings = []
    for contender in view.contenders:
        cell = contender.cells.get(connections, Cell(connections))
        reason = None
        if gates := view.outran_client(contender.name, connections):
            reason = f"the client was its limit ({', '.join(gate.code for gate in gates)})"
        elif [*rows] == [contender.name]:
            reason = ALONE
        elif contender.name not in rows or not comparable:
            reason = _why_unranked(view, cell, _has_interval(everyone, contender.name))
        standings.append(Standing(contender, cell, rows.get(contender.name), reason))
    order = {name: place for place, name in enumerate(rows)}
    standings.sort(
        key=lambda standing: (
            order.get(standing.contender.name, len(order)),
            -(standing.cell.rate_per_s(view.aggregate) or 0.0),
        )
    )
    return LevelAnalysis(connections, tuple(standings), ranking if comparable else None)


def verdicts_of(view: RunView) -> dict[Level, Decided]:
    """The pairs that a report of the run shows as decided, by level."""
    return {
        Level(each.workload, level.connections): {
            (pair.faster, pair.slower): pair.verdict
            for pair in level.ranking.pairs
            if pair.verdict is not Verdict.UNDECIDED
        }
        for each in view.by_workload
        for level in analyze(each).levels
        if level.ranking is not None
    }


def ranking_at(
    view: RunView,
    connections: int,
    with_limited: bool = False,
    apart: Set[str] = frozenset(),
    pairs_share: float = 1.0,
) -> Ranking | None:
    """The ranking at one level, without those `apart`.

    `pairs_share` is the share of all pairs that is left: the others' intervals become no narrower,
    because they hold jointly with those of the pairs that are not shown. Contenders that outran the
    client take part only on request; without them, `at_least` has their pairs' share of the error.
    None where no contender has enough valid trials.
    """
    limited: Set[str] = frozenset()
    if not with_limited:
        limited = view.client_gates.get(connections, {}).keys()
    if connections in view.sliced:
        return _sliced_ranking(view, connections, limited, apart, pairs_share)
    return _trial_ranking(view, connections, limited, apart, pairs_share)


def _sliced_ranking(
    view: RunView, connections: int, limited: Set[str], apart: Set[str], pairs_share: float
) -> Ranking:
    """The ranking of the model, in which all take part."""
    sliced = view.sliced[connections]
    controls = {control.name for control in view.controls}
    everyone = [name for name in sliced.names if name not in controls]
    ranking = rank_from_model(
        sliced.fit,
        sliced.names,
        margin=view.margin,
        confidence=view.confidence,
        share=view.conclusion.share_of_error * pairs_share * _share_without(limited, everyone),
        controls=[name for name in sliced.names if name in controls | limited | apart],
        decided=view.conclusion.decided_at(view.workload, connections),
    )
    stopping = getattr(view.protocol, "stopping", None)
    if isinstance(stopping, Settle) and stopping.question == "slower":
        return asking_slower(ranking, view.contenders[0].name, view.margin)
    return ranking


def _trial_ranking(
    view: RunView, connections: int, limited: Set[str], apart: Set[str], pairs_share: float
) -> Ranking | None:
    """The ranking of paired trials, with the controls measured in the same blocks."""
    cells = cells_at(view, connections)
    places = _places(view, connections)
    rates = {name: valid_rates(cell) for name, cell in cells.items()}
    heats = max((heat for _, heat, _ in places), default=1)
    contenders = {each.name: [*rates[each.name]] for each in view.contenders}
    everyone = rankable(contenders, len(places) / heats)
    names = [name for name in everyone if name not in limited | apart]
    if not names:
        return None
    controls = [control.name for control in view.controls]
    columns = {name: rates[name] for name in (*names, *controls)}
    return rank(
        rate_matrix(columns, places),
        list(columns),
        margin=view.margin,
        confidence=view.confidence,
        share=view.conclusion.share_of_error * pairs_share * _share_without(limited, everyone),
        controls=controls,
        decided=view.conclusion.decided_at(view.workload, connections),
    )


def _share_without(limited: Set[str], names: Sequence[str]) -> float:
    """The share of the error for the pairs of `names` without those that are `limited`."""
    left = sum(name not in limited for name in names)
    return math.comb(left, 2) / math.comb(len(names), 2) if left > 1 else 1.0


def cells_at(view: RunView, connections: int) -> dict[str, Cell]:
    """What each contender and control did at one level; empty cells of those that did nothing."""
    everyone = (*view.contenders, *view.controls)
    return {each.name: each.cells.get(connections, Cell(connections)) for each in everyone}


def _places(view: RunView, connections: int) -> set[Place]:
    cells = cells_at(view, connections).values()
    return {place_of(trial) for cell in cells for trial in cell.trials}


def fits_of(view: RunView, names: Sequence[str], connections: int) -> PairFits:
    """Every pair of these contenders at one level, in the order of `names`.

    Raises `KeyError` for a name that is not in the run.
    """
    if connections in view.sliced:
        sliced = view.sliced[connections]
        chosen = np.array([sliced.names.index(name) for name in names])
        return pair_fits(sliced.fit, sliced.fit.estimate).of(chosen)
    everyone = cells_at(view, connections)
    cells = {name: everyone[name] for name in names}
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    return fit_pairs(rate_matrix({name: valid_rates(cells[name]) for name in names}, places))


def valid_rates(cell: Cell) -> dict[Place, float]:
    """Requests/s of each valid trial, by its place."""
    return {place_of(t): t.rate_per_s for t in cell.valid if t.rate_per_s is not None}


def shown_name(view: RunView, name: str) -> str:
    """The published row's name of a contender that repeats one, else its own."""
    return next((each.label or each.name for each in view.contenders if each.name == name), name)


def place_of(trial: TrialView) -> Place:
    return trial.invocation, trial.heat, trial.block


def _has_interval(ranking: Ranking | None, name: str) -> bool:
    """Whether the ratio of a contender to any other has an interval, however wide."""
    return ranking is not None and any(
        math.isfinite(pair.ratio.high)
        for pair in ranking.pairs
        if name in (pair.faster, pair.slower)
    )


def _why_unranked(view: RunView, cell: Cell, has_interval: bool) -> str:
    if not cell.trials:
        return "not measured at this level"
    if not cell.valid:
        trials = len(cell.trials)
        return f"none of its {trials:,} trials is valid" if trials > 1 else "its trial is not valid"
    if cell.connections not in view.sliced:
        places = _places(view, cell.connections)
        heats = {heat for _, heat, _ in places}
        if not rankable({"it": [*valid_rates(cell)]}, len(places) / max(heats)):
            own_heats = {trial.heat for trial in cell.trials}
            blocks = sum(heat in own_heats for _, heat, _ in places)
            return f"only {len(cell.valid)} of {count(blocks, 'block')} have a valid trial of it"
    valid, trials = len(cell.valid), len(cell.trials)
    starts = count(len({place_of(trial)[:2] for trial in cell.valid}), "start")
    some = f" ({valid:,} of {count(trials, 'trial')} are valid)" if valid < trials else ""
    if has_interval:
        return f"its interval is too wide after {starts}{some}"
    if some:
        return f"its interval is unknown after {starts}{some}"
    return "shares too few blocks or invocations with the others for an interval"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A contender that is faster than the ranked ones in `beaten`, which are in rank order.

    `ratio_low` is the lower end of the interval of its ratio to the first of them.
    """

    contender: ContenderView
    beaten: tuple[str, ...]
    ratio_low: float


def at_least(view: RunView, level: LevelAnalysis) -> tuple[AtLeast, ...]:
    """The contenders that only the client's limits keep unranked, in the order of their rates.

    Ranks the level once more, so the level keeps the result: each format asks several times.
    """
    return level.kept.once("at_least", lambda: _at_least(view, level))


def _at_least(view: RunView, level: LevelAnalysis) -> tuple[AtLeast, ...]:
    """Of pairs separated at their first share: later steps take that of the ranked pairs."""
    ranked = [level.lone] if level.lone is not None else level.ranked
    limited = [
        standing.contender
        for standing in level.standings
        if view.outran_client(standing.contender.name, level.connections)
    ]
    if not ranked or not limited:
        return ()
    ranking = ranking_at(view, level.connections, with_limited=True)
    separated = [
        pair
        for pair in (ranking.pairs if ranking is not None else ())
        if pair.verdict is Verdict.SEPARATED and pair.ratio.low > 1
    ]
    names = [standing.contender.name for standing in ranked]
    bounds = []
    for contender in limited:
        lows = {pair.slower: pair.ratio.low for pair in separated if pair.faster == contender.name}
        if beaten := tuple(name for name in names if name in lows):
            bounds.append(AtLeast(contender, beaten, lows[beaten[0]]))
    return tuple(bounds)


@dataclass(frozen=True, slots=True)
class Times:
    """How many times as much, with its interval; None if that is unknown."""

    ratio: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One conclusion under its heading."""

    topic: str
    text: str
