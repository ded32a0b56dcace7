"""The input of an audit: published and new figures side by side, with ranks and ratios."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deadheat.audit.replay import Replay, ReplayedContender
from deadheat.protocol.figures import Figure, PublishedFigures
from deadheat.stats.agreement import tau_b, tau_interval
from deadheat.stats.repetitions import typical


@dataclass(frozen=True, slots=True)
class RowBeside:
    """One published row at one level, then (published) and now (replayed).

    Ranks are among the rows with both figures; equal rates share the better rank. `ratio` is now /
    then; `low` and `high` are the interval of a typical repetition / then. `why` is the reason if
    there is no figure of now.
    """

    row: str
    contender: str | None
    then_per_s: float | None
    now_per_s: float | None
    ratio: float | None
    low: float | None
    high: float | None
    rank_then: int | None
    rank_now: int | None
    why: str | None

    @property
    def moved(self) -> int:
        """Places gained since then; negative for places lost."""
        return (self.rank_then or 0) - (self.rank_now or 0)


@dataclass(frozen=True, slots=True)
class RowAgreement:
    """Kendall's tau-b of two columns of rates, with an interval for other rows like these."""

    tau_b: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True, slots=True)
class RowsAtLevel:
    """One level: every published row, in the order of the published rates."""

    connections: int
    lines: tuple[RowBeside, ...]
    agreement: RowAgreement | None

    @property
    def both(self) -> tuple[RowBeside, ...]:
        return tuple(line for line in self.lines if line.ratio is not None)

    def moved_most(self, count: int) -> list[RowBeside]:
        """The rows with the largest changes of rank."""
        moved = [line for line in self.both if line.moved]
        return sorted(moved, key=lambda line: (-abs(line.moved), line.row))[:count]


def agree(first: Sequence[float], second: Sequence[float]) -> RowAgreement | None:
    """Tau-b with Fieller, Hartley & Pearson's interval (1957); None for fewer than two rows."""
    if len(first) < 2:
        return None
    tau = tau_b(first, second)
    return RowAgreement(tau, *tau_interval(tau, len(first)), len(first))


def between_replays(first: Replay, second: Replay) -> Mapping[int, RowAgreement | None]:
    """The agreement of two replays by level: the most to expect of a published page."""
    agreements = {}
    for connections in first.protocol.connections:
        before, after = (rates_by_row(replay, connections) for replay in (first, second))
        rows = [row for row in before if row in after]
        agreements[connections] = agree([before[row] for row in rows], [after[row] for row in rows])
    return agreements


def _level(replay: Replay, figures: PublishedFigures, connections: int) -> RowsAtLevel:
    by_row = _contenders_by_row(replay, connections)
    published = figures.at(connections)
    then = {row: figure.rate_per_s for row, figure in published.items() if figure.rate_per_s}
    rates = rates_by_row(replay, connections)
    now = {row: rate for row, rate in rates.items() if row in published}
    both = [row for row in then if row in now]
    places = [ranks({row: per_s[row] for row in both}) for per_s in (then, now)]
    lines = []
    for row in published:
        contender = by_row.get(row)
        spread = typical(contender.rates_at(connections)) if contender and row in both else None
        lines.append(
            RowBeside(
                row=row,
                contender=contender.name if contender else None,
                then_per_s=then.get(row),
                now_per_s=now.get(row),
                ratio=now[row] / then[row] if row in both else None,
                low=spread.low / then[row] if spread else None,
                high=spread.high / then[row] if spread else None,
                rank_then=places[0].get(row),
                rank_now=places[1].get(row),
                why=None if row in now else _why_missing(replay, contender, row, connections),
            )
        )
    lines.sort(key=lambda line: -(line.then_per_s or -math.inf))
    agreement = agree([then[row] for row in both], [now[row] for row in both])
    return RowsAtLevel(connections, tuple(lines), agreement)


def _contenders_by_row(replay: Replay, connections: int) -> dict[str, ReplayedContender]:
    """Published row -> its contender; the fastest by the aggregate if there are several."""
    contenders: dict[str, ReplayedContender] = {}
    for contender in replay.contenders:
        best = contenders.get(contender.row)
        if best is None or (replay.rate(contender, connections) or 0) > (
            replay.rate(best, connections) or 0
        ):
            contenders[contender.row] = contender
    return contenders


def rates_by_row(replay: Replay, connections: int) -> dict[str, float]:
    """The best rate of each published row that has one."""
    rates: dict[str, float] = {}
    for contender in replay.contenders:
        rate = replay.rate(contender, connections)
        if rate is not None:
            rates[contender.row] = max(rate, rates.get(contender.row, 0.0))
    return rates


def ranks(rates: Mapping[str, float]) -> dict[str, int]:
    """Row -> its place by rate; equal rates share the better one."""
    return {row: 1 + sum(other > rate for other in rates.values()) for row, rate in rates.items()}


def _why_missing(
    replay: Replay, contender: ReplayedContender | None, row: str, connections: int
) -> str:
    if contender is None:
        return replay.missing.get(row, "not in this run")
    if contender.fault:
        return contender.fault.splitlines()[0]
    if reasons := [trial.reason for trial in contender.at(connections) if trial.reason]:
        return reasons[0].splitlines()[0]
    return "not measured at this level"


@dataclass(frozen=True)
class Case:
    """A replay and the published figures; `repetitions` if those are published too."""

    replay: Replay
    figures: PublishedFigures
    repetitions: PublishedFigures | None = None

    @cached_property
    def levels(self) -> tuple[RowsAtLevel, ...]:
        """Every published level, replayed or not."""
        return tuple(_level(self.replay, self.figures, at) for at in self.figures.levels)

    @property
    def running(self) -> dict[str, ReplayedContender]:
        """Published row -> contender, for those with a trial."""
        return {
            contender.row: contender for contender in self.replay.contenders if contender.trials
        }

    @property
    def main(self) -> RowsAtLevel:
        """The level with the most rows in both columns, then with the most detail."""
        return max(
            self.levels,
            key=lambda level: (
                len(level.both),
                sum(
                    figure.requests is not None
                    for figure in self.figures.at(level.connections).values()
                ),
            ),
        )

    def published_repetitions(self) -> Mapping[tuple[str, int], list[Figure]]:
        """All published repetitions, by row and level."""
        by_row_and_level: dict[tuple[str, int], list[Figure]] = {}
        for figure in self.repetitions.figures if self.repetitions else ():
            by_row_and_level.setdefault((figure.row, figure.connections), []).append(figure)
        return by_row_and_level

    def agreement_without(self, rows: Collection[str]) -> RowAgreement | None:
        """Rank agreement at the main level without these rows."""
        kept = [line for line in self.main.both if line.row not in rows]
        return agree(
            [line.then_per_s or 0.0 for line in kept], [line.now_per_s or 0.0 for line in kept]
        )


def agreement_text(agreement: RowAgreement | None) -> str:
    """`tau-b 0.87 [0.80, 0.92] over 22 rows`."""
    if agreement is None:
        return "no rank agreement: fewer than two rows"
    return (
        f"tau-b {agreement.tau_b:.2f} [{agreement.low:.2f}, {agreement.high:.2f}] "
        f"over {agreement.rows} rows"
    )
