"""Standings: the valid rates so far, and what a declared look at them decides."""

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from deadheat.campaign.failures import Tally
from deadheat.campaign.past import Past, level_of
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.gates.pooled import is_valid
from deadheat.protocol import Protocol
from deadheat.stats.alpha_spending import Looks
from deadheat.stats.change import Change, Outcome
from deadheat.stats.distributions import Floats
from deadheat.stats.pairs import PairFits, fit_pairs
from deadheat.stats.ranking import Decided, Ranking, rank
from deadheat.stats.rate_matrix import Place, rankable, rate_matrix
from deadheat.stats.single_rate import is_known
from deadheat.store import TrialRecord
from deadheat.workload import Level


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the data that could end the race, and the share of the error it spends."""

    number: int | None
    share: float
    settled: bool


@dataclass(slots=True)
class _Level:
    """One level: the valid rates of each name, and the highest clock it was seen at.

    `rates` maps a name to invocation, heat and block, and those to requests/s.
    """

    rates: dict[str, dict[Place, float]] = field(default_factory=dict)
    requests: dict[str, float] = field(default_factory=dict)  # answered in those trials
    places: set[Place] = field(default_factory=set)
    clocks_khz: dict[str, float] = field(default_factory=dict)  # the highest of its trials' medians
    heats: int = 1


class Standings:
    """Takes in trials, and looks at them when a look is due.

    `levels_of` gives the levels at which a contender is measured; without it, all of them.
    """

    looks = Looks()

    def __init__(
        self,
        protocol: Protocol,
        contenders: Sequence[str],
        controls: Sequence[str] = (),
        levels_of: Callable[[str], Collection[Level]] | None = None,
    ) -> None:
        self._protocol = protocol
        self._contenders = list(contenders)
        self._controls = list(controls)
        self._levels = {level: _Level() for level in protocol.levels}
        self._levels_of = levels_of or (lambda _: protocol.levels)
        self._left_out: dict[str, frozenset[str]] = {}  # workloads, by contender
        self._ceilings: dict[Level, list[float]] = {}
        self._invocation = 0
        self._last = Look(None, 1.0, settled=False)
        self._all_seen = True  # no trial was added since the last look
        self._extension = 0
        self._decided: Mapping[Level, Decided] = {}
        self.tally = Tally()

    @property
    def contenders_left(self) -> bool:
        return bool(self._contenders)

    @property
    def names(self) -> list[str]:
        """The contenders that are still in."""
        return list(self._contenders)

    @property
    def last(self) -> Look:
        """The last look taken."""
        return self._last

    @property
    def settled(self) -> bool:
        return self._last.settled

    @property
    def finished(self) -> bool:
        """Whether the last look settled the race, so that none is left to take."""
        return self.settled

    def races(self, name: str) -> bool:
        """Whether a contender is still in."""
        return name in self._contenders

    def drop(self, name: str, why: str) -> None:
        """Take a contender out: it could not start, or its trials do not count."""
        if name in self._contenders:
            self._contenders.remove(name)
            self.tally.out[name] = why

    def leave_out(self, name: str, workloads: frozenset[str]) -> None:
        """Take a contender out of these workloads: it answers them wrong."""
        self._left_out[name] = workloads

    def add(self, name: str, record: TrialRecord) -> None:
        """Take in a trial; one that failed a gate leaves its place empty."""
        self._all_seen = False
        if name not in self._controls:
            self.tally.add(record)
        self._invocation = record.invocation
        level = self._levels[level_of(record)]
        place = (record.invocation, record.heat, record.block)
        level.places.add(place)
        level.heats = max(level.heats, record.heat)
        if record.state != "ok" or not record.rate_per_s:
            return
        if clock_khz := record.series.get("clock_khz"):
            highest_khz = level.clocks_khz.get(name, 0.0)
            level.clocks_khz[name] = max(highest_khz, statistics.median(clock_khz))
        if name == NULL_SERVER:
            self.set_ceiling(level_of(record), record.rate_per_s)
        if is_valid(record):
            level.rates.setdefault(name, {})[place] = record.rate_per_s
            requests = record.rate_per_s * (record.elapsed_s or 0.0)
            level.requests[name] = level.requests.get(name, 0.0) + requests

    def recall(self, past: Past) -> None:
        """Take in the trials of a run that goes on.

        Every look that was due by then counts as taken: what it spent of the error is gone. An
        extension keeps the verdicts of the look before it, and has one look, at its end.
        """
        for name, record in past.measured:
            self.add(name, record)
        stopping = self._protocol.stopping
        if stopping.kind != "settle":
            return
        if past.extension is not None:
            self._extension = past.extension.number
            self._decided = past.extension.decided
            self._last = Look(past.look, past.extension.share, settled=False)
            return
        due = self.looks.due(past.elapsed_s / stopping.budget_s) if self._enough_starts() else None
        number = max((n for n in (due, past.look) if n is not None), default=None)
        self._last = Look(number, 1.0, settled=False)

    def set_ceiling(self, level: Level, rate_per_s: float) -> None:
        """What the client reached against the null server."""
        self._ceilings.setdefault(level, []).append(rate_per_s)

    def ceiling_per_s(self, level: Level) -> float | None:
        """The median of what the client reached against the null server at this level."""
        seen = self._ceilings.get(level)
        return statistics.median(seen) if seen else None

    def clock_khz_max(self, name: str, level: Level) -> float | None:
        """The highest clock of a contender's CPUs at this level: the highest median of a trial."""
        return self._levels[level].clocks_khz.get(name)

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

    def look(self, progress: float) -> None:
        """Look, if a look is due at this fraction of the budget.

        None is due before the last of the invocations asked for: start-to-start variance is not
        seen in fewer. A look passed over leaves its share of the error to the next.
        """
        stopping = self._protocol.stopping
        if stopping.kind != "settle" or self._extension or not self._enough_starts():
            return
        number = self.looks.due(progress, self._last.number)
        if number is not None:
            self._take(number)

    def last_look(self) -> Look:
        """The look at the end of the budget, unless an earlier one has settled the race.

        If the last block ended after the budget, it had that look already. A fixed protocol has
        this one look, and spends all of the error on it.
        """
        if self._protocol.stopping.kind == "fixed":
            self._last = Look(None, 1.0, self._all_settled(1.0))
        elif self._extension:
            share = self.looks.extension_share(self._extension)
            self._last = Look(self._last.number, share, self._all_settled(share))
        elif not self.finished:
            end, taken = self.looks.count - 1, self._last.number
            if taken is None or taken < end or not self._all_seen:
                self._take(end if taken is None else max(end, taken + 1))
        return self._last

    def measured_at(self, level: Level) -> list[str]:
        """The contenders still in that are measured at a level."""
        return [
            name
            for name in self._contenders
            if level in self._levels_of(name)
            and level.workload not in self._left_out.get(name, frozenset())
        ]

    def ranking(self, level: Level, share: float) -> Ranking | None:
        """The ranking at one level; None where there is nothing to compare yet."""
        data = self._levels[level]
        valid = {name: list(data.rates.get(name, {})) for name in self.measured_at(level)}
        names = rankable(valid, len(data.places) / data.heats)
        if len(names) < 2:
            return None
        columns = [*names, *self._controls]
        stopping = self._protocol.stopping
        return rank(
            self.rates(level, columns),
            columns,
            margin=stopping.margin,
            confidence=stopping.confidence,
            share=share,
            controls=self._controls,
            decided=self._decided.get(level),
        )

    def rates(self, level: Level, names: Sequence[str]) -> Floats:
        """rates[invocation, block, name] at one level; NaN where there is no valid trial."""
        data = self._levels[level]
        return rate_matrix({name: data.rates.get(name, {}) for name in names}, data.places)

    def fits(self, level: Level) -> PairFits:
        """Every pair of the contenders, in the order in which they were named."""
        return fit_pairs(self.rates(level, self._contenders))

    def _enough_starts(self) -> bool:
        """Whether the starts asked for are in: fewer cannot show how much starts differ."""
        return self._invocation >= self._protocol.stopping.invocations

    def _take(self, number: int) -> None:
        share = self.looks.share(number, self._last.number)
        self._last = Look(number, share, self._all_settled(share))
        self._all_seen = True

    def _all_settled(self, share: float) -> bool:
        """Whether every neighboring pair is decided at every level.

        The rate of a single contender has to be known well, with enough requests for a p99.
        """
        rankings = [
            self.ranking(level, share) for level in self._levels if len(self.measured_at(level)) > 1
        ]
        return all(
            ranking is not None and self._is_decided(ranking) for ranking in rankings
        ) and not any(self._unknown_alone(level) for level in self._levels)

    def _unknown_alone(self, level: Level) -> list[str]:
        """The only contender measured at a level, while its rate there is not known well."""
        names = self.measured_at(level)
        if len(names) != 1:
            return []
        (alone,), data = names, self._levels[level]
        confidence = self._protocol.stopping.confidence
        known = is_known(data.rates.get(alone, {}), data.requests.get(alone, 0.0), confidence)
        return [] if known else names

    def _is_decided(self, ranking: Ranking) -> bool:
        """Whether a ranking answers the protocol's question: the order, or is the head slower?"""
        if self._protocol.stopping.question == "order":
            return ranking.settled
        base, head = self._contenders
        if ranking.unranked or len(ranking.rows) < 2:
            return False
        change = Change.of(ranking, base, head)
        return change.judge(self._protocol.stopping.margin) is not Outcome.INCONCLUSIVE
