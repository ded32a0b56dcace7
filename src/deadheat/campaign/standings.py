"""Standings of a race: one model of all slices gives rates, ratios and the order so far."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deadheat.campaign.failures import Tally
from deadheat.campaign.past import Past, level_of
from deadheat.campaign.resolve import FEWEST_INSTANCES
from deadheat.campaign.run import RaceContext
from deadheat.events import Board, BoardRow
from deadheat.measure.gates.judge import BLOCK_GATES
from deadheat.measure.gates.pooled import is_valid
from deadheat.protocol import Fixed, Settle
from deadheat.stats.model.counted_slices import count_slices, slices_of
from deadheat.stats.model.slice_model import ModelFit, fit_slices
from deadheat.stats.model.slices import SliceTable, modeled_names
from deadheat.stats.ranking.alpha_spending import Looks
from deadheat.stats.ranking.change import Change, Outcome
from deadheat.stats.ranking.decision import Outlook, Verdict
from deadheat.stats.ranking.model_ranking import pair_fits, rank_from_model
from deadheat.stats.ranking.pairs import PairFits, Place, is_known
from deadheat.stats.ranking.ranks import Decided, Pair, Ranking, without_interval
from deadheat.store import TrialRecord
from deadheat.store.slices import TrialSlices, columns_of
from deadheat.workload import Level, over, parts_of

OF_BLOCKS = frozenset(gate.__name__ for gate in BLOCK_GATES)  # gates that read the machine


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the data that could end the race, and the share of the error it spends."""

    number: int | None
    share: float
    settled: bool


@dataclass(slots=True)
class _Level:
    """What was measured at one level: all slices, and the rates of the valid trials by name."""

    slices: SliceTable = field(default_factory=SliceTable)
    rates: dict[str, dict[Place, float]] = field(default_factory=dict)
    requests: dict[str, float] = field(default_factory=dict)  # answered in those trials


class Standings:
    """Takes in trials that are made of slices, and looks at them when a look is due.

    There are four looks, from 24 to 100 % of the budget. Nine made intervals at the end 2 to 8 %
    wider, and let easy races end a little earlier. A contender stops when its place is decided and
    it has as many instances as its part of the budget allows.
    """

    looks = Looks(count=4, ratio=1.6)

    def __init__(self, run: RaceContext) -> None:
        self._run = run
        self._stopping = stopping = run.protocol.stopping
        self._contenders = run.named("contender")
        self._controls = run.named("control")
        self._levels = {level: _Level() for level in run.protocol.levels}
        self._left_out: dict[str, frozenset[str]] = {}  # workloads, by contender
        self._instances: defaultdict[str, set[int]] = defaultdict(set)
        self._blocks: defaultdict[str, set[int]] = defaultdict(set)
        # How many a contender has to have, also if its place is decided before. With two, t has so
        # few degrees of freedom that a ratio has no useful interval.
        fewest = FEWEST_INSTANCES if isinstance(stopping, Settle) else stopping.invocations
        self.instances_wanted: Mapping[str, int] = dict.fromkeys(self._contenders, fewest)
        self.tally = Tally()
        self.last = Look(None, 1.0, settled=False)  # the last one taken
        self._all_seen = True  # no trial was added since the last look
        self._extension = 0
        self._decided: Mapping[Level, Decided] = {}
        self._undecided = set(self._contenders)  # at the last look
        self._is_coarse = False  # at the last look, the protocol's resolution was not reached
        self._imprecise: frozenset[str] = frozenset()  # at the last look: wide intervals
        self._ranking: Ranking | None = None  # of the last look, at the main level
        self._disagreeing: set[tuple[str, Level]] = set()  # at looks, with their witness
        self._recall(run.past)

    @property
    def names(self) -> list[str]:
        """The contenders that are still in."""
        return list(self._contenders)

    def drop(self, name: str, why: str) -> None:
        """Take a contender out: it could not start, or its trials do not count."""
        if name in self._contenders:
            self._contenders.remove(name)
            self.tally.out[name] = why

    def leave_out(self, name: str, workloads: frozenset[str]) -> None:
        """Take a contender out of these workloads: it answers them wrong."""
        self._left_out[name] = workloads

    @property
    def racing_names(self) -> list[str]:
        """The contenders that still race: those that are undecided or have too few instances.

        If the order is settled, those go on whose ratio to a neighbor has a wide interval, or all
        of them if the race could not detect a small difference yet. An extension only decides what
        is open. With a fixed number of repetitions, a contender races until it has as many blocks.
        """
        if isinstance(self._stopping, Fixed):
            repetitions = self._stopping.repetitions
            return [name for name in self._contenders if self.blocks(name) < repetitions]
        return [
            name
            for name in self._contenders
            if name in self._undecided
            or self.instances(name) < self._fewest(name)
            or (self.last.settled and (self._is_coarse or name in self._imprecise))
        ]

    @property
    def imprecise_names(self) -> list[str]:
        """The contenders whose ratio to a neighbor had a wide interval at the last look."""
        return [name for name in self._contenders if name in self._imprecise]

    def _fewest(self, name: str) -> int:
        return FEWEST_INSTANCES if self._extension else self.instances_wanted[name]

    @property
    def is_coarse(self) -> bool:
        """Whether ratios have wide intervals, or the protocol's resolution is not reached yet."""
        return self._is_coarse or bool(self._imprecise)

    def add(self, name: str, record: TrialRecord) -> None:
        """Take in a trial; the slices of one that failed a gate do not count."""
        self._all_seen = False
        if name not in self._controls:
            self.tally.add(record)
        if record.instance_id is not None:
            self._instances[name].add(record.instance_id)
        self._blocks[name].add(record.block)
        if not record.rate_per_s or not is_valid(record):
            return
        level = self._levels[level_of(record)]
        trial = TrialSlices(0, record.instance_id or 0, record.block, record.slices)
        level.slices.take(columns_of([name], [trial]))
        place = (record.invocation, record.heat, record.block)
        level.rates.setdefault(name, {})[place] = record.rate_per_s
        requests = record.rate_per_s * (record.elapsed_s or 0.0)
        level.requests[name] = level.requests.get(name, 0.0) + requests

    def _recall(self, past: Past) -> None:
        """Take in the trials of a run that goes on.

        Every look that was due by then counts as taken: what it spent of the error is gone. An
        extension keeps the verdicts of the look before it, and has one look, at its end. In it,
        only contenders race whose place the look before it left open.
        """
        for name, record in past.measured:
            self.add(name, record)
        if isinstance(self._stopping, Fixed):
            return
        if past.extension is not None:
            self._extension = past.extension.number
            self._decided = {
                level: _by_contender(decided, level)
                for level, decided in past.extension.decided.items()
            }
            self.last = Look(past.look, past.extension.share, settled=False)
            if self._all_settled(past.extension.share):
                self._undecided = set(self._contenders)
            return
        budget_s = self._stopping.budget_s
        due = self.looks.due(past.elapsed_s / budget_s) if self._enough_starts() else None
        number = max((n for n in (due, past.look) if n is not None), default=None)
        self.last = Look(number, 1.0, settled=False)

    def rate_per_s(self, name: str, level: Level) -> float | None:
        """The median of a contender's valid rates at a level."""
        rates = self._levels[level].rates.get(name)
        return statistics.median(rates.values()) if rates else None

    def others_valid(self, name: str) -> bool:
        """Whether another contender has a valid trial."""
        return any(
            level.rates.get(other)
            for level in self._levels.values()
            for other in self._contenders
            if other != name
        )

    def look(self, now_s: float) -> None:
        """Look, if a look is due at this time of a race with a budget.

        None is due before each contender has two measured instances: fewer have no interval. A
        look passed over leaves its share of the error to the next.
        """
        if isinstance(self._stopping, Fixed) or self._extension or not self._enough_starts():
            return
        number = self.looks.due(now_s / self._stopping.budget_s, self.last.number)
        if number is not None:
            self._take(number)

    def last_look(self) -> Look:
        """The look at the end of the budget, unless an earlier one has settled the race.

        If the last block ended after the budget, it had that look already. A fixed protocol has
        this one look, and spends all of the error on it.
        """
        if isinstance(self._stopping, Fixed):
            self.last = Look(None, 1.0, self._all_settled(1.0))
        elif self._extension:
            share = self.looks.extension_share(self._extension)
            self.last = Look(self.last.number, share, self._all_settled(share))
        elif not (self.last.settled and self._all_seen):
            end, taken = self.looks.count - 1, self.last.number
            if taken is None or taken < end or not self._all_seen:
                self._take(end if taken is None else max(end, taken + 1))
        return self.last

    def measured_at(self, level: Level) -> list[str]:
        """The contenders still in that are measured at a level."""
        return [
            name
            for name in self._contenders
            if level in self._run.levels_of(name)
            and level.workload not in self._left_out.get(name, frozenset())
        ]

    def take_disagreeing(self) -> set[tuple[str, Level]]:
        """Whose slices disagreed with their witness at a look since the last call, and where."""
        disagreeing, self._disagreeing = self._disagreeing, set()
        return disagreeing

    def instances(self, name: str) -> int:
        """How many instances of a contender have been measured."""
        return len(self._instances.get(name, ()))

    def blocks(self, name: str) -> int:
        """How many blocks a contender has run."""
        return len(self._blocks.get(name, ()))

    def fit(self, level: Level) -> tuple[ModelFit, list[str]] | None:
        """The model at one level with the names of its contenders; None without a slice."""
        counted = count_slices(self._levels[level].slices.columns)
        names = modeled_names(counted.slices, self._contenders, self._controls)
        if not names:
            return None
        return fit_slices(slices_of(counted, names)), names

    def ranking(self, level: Level, share: float) -> Ranking | None:
        """The ranking at one level; None where there is nothing to compare yet."""
        fitted = self.fit(level)
        if fitted is None:
            return None
        model, names = fitted
        self._disagreeing |= {
            (name, level)
            for name, gap, silent in zip(names, model.witness_gap, model.silent_gap, strict=True)
            if gap or silent
        }
        return self._ranked(model, names, level, share)

    def outlooks(self) -> list[Outlook]:
        """How the interval between two contenders narrows at each level, as the last look sees it.

        None before each has two instances, and none where the pair is decided.
        """
        if not self._enough_starts() or len(self._contenders) != 2:
            return []
        pairs: list[Pair] = []
        share = self.looks.share(self.looks.count - 1, self.last.number)
        for level in self._levels:
            fitted = self.fit(level)
            ranking = self._ranked(*fitted, level, share) if fitted else None
            if ranking is not None and share > 0:
                pairs += ranking.pairs
        return [pair.outlook for pair in pairs if pair.outlook is not None]

    def _ranked(
        self, model: ModelFit, names: Sequence[str], level: Level, share: float
    ) -> Ranking | None:
        if len([name for name in names if name in self._contenders]) < 2:
            return None
        return rank_from_model(
            model,
            names,
            margin=self._stopping.margin,
            confidence=self._stopping.confidence,
            share=share,
            controls=[name for name in names if name in self._controls],
            decided=self._decided.get(level),
        )

    def fits(self, level: Level) -> PairFits:
        """Every pair of the contenders, in the order in which they were named."""
        counted = count_slices(self._levels[level].slices.columns)
        model = fit_slices(slices_of(counted, self._contenders))
        return pair_fits(model, model.estimate)

    def _enough_starts(self) -> bool:
        """Whether every contender has at least two measured instances: fewer have no interval."""
        return all(self.instances(name) >= FEWEST_INSTANCES for name in self._contenders)

    def _take(self, number: int) -> None:
        share = self.looks.share(number, self.last.number)
        self.last = Look(number, share, self._all_settled(share))
        self._all_seen = True

    def _all_settled(self, share: float) -> bool:
        """Whether the question is answered at every level; decides who races on, too.

        These are the contenders with an undecided pair of neighbors. The rate of a single contender
        has to be known well, with enough requests for a p99.
        """
        rankings = {
            level: self.ranking(level, share)
            for level in self._levels
            if len(self.measured_at(level)) > 1
        }
        if isinstance(self._stopping, Settle) and self._stopping.question == "slower":
            answered = all(each and self._is_answered(each) for each in rankings.values())
            answered = answered and not any(map(self._unknown_alone, self._levels))
            self._undecided = set() if answered else set(self._contenders)
            return answered
        self._ranking = rankings.get(self._run.protocol.main_level)
        undecided = {
            name
            for ranking in rankings.values()
            if ranking is not None
            for pair in ranking.neighbors
            if pair.verdict is Verdict.UNDECIDED
            for name in (pair.faster, pair.slower)
        }
        unranked = {
            name
            for level, ranking in rankings.items()
            for name in self.measured_at(level)
            if ranking is None or name not in {row.name for row in ranking.rows}
        }
        alone = {name for level in self._levels for name in self._unknown_alone(level)}
        self._undecided = undecided | unranked | alone
        if isinstance(self._stopping, Settle) and not self._extension:
            self._note_precision(self._stopping, [each for each in rankings.values() if each])
        return not self._undecided

    def _note_precision(self, wanted: Settle, rankings: Sequence[Ranking]) -> None:
        """Whose ratio to a neighbor, and whether any difference, is known less well than wanted."""
        self._imprecise = frozenset(
            name
            for ranking in rankings
            for pair in ranking.neighbors
            if not pair.ratio.high <= (1 + wanted.half_width) * pair.ratio.ratio
            for name in (pair.faster, pair.slower)
        )
        effects = [ranking.minimum_detectable_effect or 0.0 for ranking in rankings]
        self._is_coarse = any(effect > wanted.resolution for effect in effects)

    def _unknown_alone(self, level: Level) -> list[str]:
        """The only contender measured at a level, while its rate there is not known well."""
        names = self.measured_at(level)
        if len(names) != 1:
            return []
        (alone,), data = names, self._levels[level]
        confidence = self._stopping.confidence
        known = is_known(data.rates.get(alone, {}), data.requests.get(alone, 0.0), confidence)
        return [] if known else names

    def _is_answered(self, ranking: Ranking) -> bool:
        """Whether it is known if the second of two, the head, is slower than the first."""
        base, head = self._contenders
        if ranking.unranked or len(ranking.rows) < 2:
            return False
        change = Change.of(ranking, base, head)
        return change.judge(self._stopping.margin) is not Outcome.INCONCLUSIVE

    def board(self, block: int, records: Sequence[TrialRecord]) -> Board:
        """The standings after a block with these trials, for a live display: no model is fitted."""
        protocol, ranking = self._run.protocol, self._ranking
        level = protocol.main_level
        unknown = without_interval(ranking) if ranking else ()
        rows_of_look = ranking.rows if ranking else ()
        ranks = {row.name: row.rank for row in rows_of_look if row.name not in unknown}
        rows = [
            BoardRow(
                name=name,
                rate_per_s=self.rate_per_s(name, level),
                rank=ranks.get(name),
                instances=self.instances(name),
                open=name in self._undecided,
            )
            for name in self.measured_at(level)
        ]
        rows.sort(key=lambda row: -(row.rate_per_s or 0.0))
        gates = {gate.code for record in records for gate in record.gates if not gate.passed}
        decided = None
        if ranking is not None:
            decided = sum(pair.verdict is not Verdict.UNDECIDED for pair in ranking.neighbors)
        return Board(
            rows=tuple(rows),
            connections=level.connections,
            workload=level.workload if len(protocol.workload_names) > 1 else None,
            block=block,
            decided=decided,
            pairs=max(len(rows) - 1, 0),
            elapsed_s=self._run.now_s(),
            budget_s=self._run.ends_s,
            disturbed=tuple(sorted(gates & OF_BLOCKS)),
        )


def _by_contender(decided: Decided, level: Level) -> Decided:
    """The verdicts of a report, which names servers; a race has a contender for each transport."""
    _, transport = parts_of(level.workload)
    return {
        (over(faster, transport), over(slower, transport)): verdict
        for (faster, slower), verdict in decided.items()
    }
