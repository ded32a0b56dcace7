"""Standings of a race in slices: one model of all slices gives rates, ratios and the order."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from deadheat.campaign.past import Past, level_of
from deadheat.campaign.standings import Standings
from deadheat.measure.gates.pooled import is_valid
from deadheat.measure.slices import SERIES
from deadheat.protocol import Protocol
from deadheat.stats.alpha_spending import Looks
from deadheat.stats.counted_slices import count_slices, slices_of
from deadheat.stats.decision import Verdict
from deadheat.stats.model_ranking import pair_fits, rank_from_model
from deadheat.stats.modeled import modeled_names
from deadheat.stats.pairs import PairFits
from deadheat.stats.ranking import Ranking
from deadheat.stats.slice_columns import SliceRow, SliceTable, weight_of
from deadheat.stats.slice_model import ModelFit, fit_slices
from deadheat.store import TrialRecord
from deadheat.workload import Level

FEWEST_INSTANCES = 2


class SliceStandings(Standings):
    """Takes in trials that are made of slices, and looks at them when a look is due.

    There are four looks, from 24 to 100 % of the budget. Nine made intervals at the end 2 to 8 %
    wider, and let easy races end a little earlier. A contender stops when its place is decided and
    it has as many instances as its part of the budget allows.
    """

    looks = Looks(count=4, ratio=1.6)

    def __init__(
        self,
        protocol: Protocol,
        contenders: Sequence[str],
        controls: Sequence[str] = (),
        levels_of: Callable[[str], Collection[Level]] | None = None,
    ) -> None:
        super().__init__(protocol, contenders, controls, levels_of)
        self._slices = {level: SliceTable() for level in protocol.levels}
        self._instances: dict[str, set[int]] = {}
        self._blocks: dict[str, set[int]] = {}
        # How many a contender has to have, also if its place is decided before. With two, t has so
        # few degrees of freedom that a ratio has no useful interval.
        stopping = protocol.stopping
        fewest = FEWEST_INSTANCES if stopping.kind == "settle" else stopping.invocations
        self.instances_wanted: Mapping[str, int] = dict.fromkeys(contenders, fewest)
        self._undecided = set(contenders)  # at the last look
        self._is_coarse = False  # at the last look, the protocol's resolution was not reached
        self._imprecise: frozenset[str] = frozenset()  # at the last look: wide intervals
        self._ranking: Ranking | None = None  # of the last look, at the main level
        self._disagreeing: set[tuple[str, Level]] = set()  # at looks, with their witness

    @property
    def undecided_names(self) -> list[str]:
        """The contenders with an undecided pair at the last look; all before the first."""
        return [name for name in self._contenders if name in self._undecided]

    @property
    def racing_names(self) -> list[str]:
        """The contenders that still race: those that are undecided or have too few instances.

        If the order is settled, those go on whose ratio to a neighbor has a wide interval, or all
        of them if the race could not detect a small difference yet. An extension only decides what
        is open. With a fixed number of repetitions, a contender races until it has as many blocks.
        """
        stopping = self._protocol.stopping
        if stopping.kind == "fixed":
            return [n for n in self._contenders if self.blocks(n) < stopping.repetitions]
        return [
            name
            for name in self._contenders
            if name in self._undecided
            or self.instances(name) < self._fewest(name)
            or (self.settled and (self._is_coarse or name in self._imprecise))
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

    @property
    def finished(self) -> bool:
        """Whether the order was settled at a look at everything measured."""
        return self.settled and self._all_seen

    def add(self, name: str, record: TrialRecord) -> None:
        """Take in a trial; the slices of one that failed a gate do not count."""
        super().add(name, record)
        if is_valid(record):
            self._slices[level_of(record)].add(rows_of(name, record))
        if record.instance_id is not None:
            self._instances.setdefault(name, set()).add(record.instance_id)
        self._blocks.setdefault(name, set()).add(record.block)

    @property
    def last_ranking(self) -> Ranking | None:
        """What the last look ranked at the main level; None before the first."""
        return self._ranking

    def recall(self, past: Past) -> None:
        """In an extension, only contenders race whose place the look before it left open."""
        super().recall(past)
        if past.extension is not None and self._all_settled(past.extension.share):
            self._undecided = set(self._contenders)

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
        slices = count_slices(self._slices[level].columns).slices
        names = modeled_names(slices, self._contenders, self._controls)
        if not names:
            return None
        return fit_slices(slices_of(slices, names)), names

    def ranking(self, level: Level, share: float) -> Ranking | None:
        """The ranking at one level; None where there is nothing to compare yet."""
        fitted = self.fit(level)
        if fitted is None:
            return None
        model, names = fitted
        self._disagreeing |= {
            (name, level) for name, gap in zip(names, model.witness_gap, strict=True) if gap
        }
        if len([name for name in names if name in self._contenders]) < 2:
            return None
        stopping = self._protocol.stopping
        return rank_from_model(
            model,
            names,
            margin=stopping.margin,
            confidence=stopping.confidence,
            share=share,
            controls=[name for name in names if name in self._controls],
            decided=self._decided.get(level),
        )

    def fits(self, level: Level) -> PairFits:
        """Every pair of the contenders, in the order in which they were named."""
        slices = count_slices(self._slices[level].columns).slices
        model = fit_slices(slices_of(slices, self._contenders))
        return pair_fits(model, model.estimate)

    def _enough_starts(self) -> bool:
        """Whether every contender has at least two measured instances: fewer have no interval."""
        return all(self.instances(name) >= FEWEST_INSTANCES for name in self._contenders)

    def _all_settled(self, share: float) -> bool:
        """Decide who races on, too: the contenders with an undecided pair of neighbors."""
        if len(self._contenders) == 1 or self._protocol.stopping.question == "slower":
            return super()._all_settled(share)
        rankings = {
            level: self.ranking(level, share)
            for level in self._levels
            if len(self.measured_at(level)) > 1
        }
        self._ranking = rankings.get(self._protocol.main_level)
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
        if not self._extension:
            self._imprecise = frozenset(
                name for each in rankings.values() for name in self._wide(each)
            )
        effects = [each.minimum_detectable_effect for each in rankings.values() if each is not None]
        resolution = self._protocol.stopping.resolution
        self._is_coarse = not self._extension and any(
            effect is not None and effect > resolution for effect in effects
        )
        return not self._undecided

    def _wide(self, ranking: Ranking | None) -> Iterator[str]:
        """The contenders whose ratio to a neighbor is known less well than the protocol asks."""
        for pair in ranking.neighbors if ranking is not None else ():
            if not pair.ratio.high <= (1 + self._protocol.stopping.half_width) * pair.ratio.ratio:
                yield from (pair.faster, pair.slower)


def rows_of(name: str, record: TrialRecord) -> list[SliceRow]:
    """The slices of a trial that measured something."""
    return slice_rows(name, record.instance_id or 0, record.block, record.series.get(SERIES, ()))


def slice_rows(
    name: str, instance: int, block: int, series: Iterable[Mapping[str, Any]]
) -> list[SliceRow]:
    """The slices of a stored series that count.

    A slice in which nothing was sent has no requests to weigh by; in one where the client waited
    for its CPU, the rate is not the server's.
    """
    return [
        _slice_row(name, instance, block, row)
        for row in series
        if row.get("rate_per_s") and not row.get("client_waited")
    ]


def _slice_row(name: str, instance: int, block: int, row: Mapping[str, Any]) -> SliceRow:
    return SliceRow(
        contender=name,
        instance=instance,
        block=block,
        round=row["round"],
        at_s=row["at_s"],
        rate_per_s=row["rate_per_s"],
        weight=weight_of(row),
        witness_per_s=row.get("witness_per_s", math.nan),
    )
