"""Then beside now: each published row at each level, its ranks and its ratio."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deadheat.audit.replay import Contender, Replay
from deadheat.protocol.figures import Figures
from deadheat.stats.agreement import tau_b, tau_interval
from deadheat.stats.repetitions import typical


@dataclass(frozen=True, slots=True)
class Line:
    """One published row at one level, then and now.

    Ranks are among the rows that have both figures, equal rates sharing the better one; `ratio` is
    now over then, `low` and `high` the interval of a typical repetition over then. `why` says why
    there is no figure of today.
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
class Agreement:
    """Kendall's tau-b of two columns of rates, with its interval over rows drawn like these."""

    tau_b: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True, slots=True)
class Level:
    """One level: every published row, in the order of the published rates."""

    connections: int
    lines: tuple[Line, ...]
    agreement: Agreement | None

    @property
    def both(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.ratio is not None)

    def moved_most(self, count: int) -> list[Line]:
        """The rows that changed their place most."""
        moved = [line for line in self.both if line.moved]
        return sorted(moved, key=lambda line: (-abs(line.moved), line.row))[:count]


def set_beside(replay: Replay, figures: Figures) -> tuple[Level, ...]:
    """Every published level, whether it was replayed or not."""
    return tuple(_level(replay, figures, connections) for connections in figures.levels)


def agree(first: Sequence[float], second: Sequence[float]) -> Agreement | None:
    """Tau-b with Fieller, Hartley & Pearson's interval (1957); None for fewer than two rows."""
    if len(first) < 2:
        return None
    tau = tau_b(first, second)
    return Agreement(tau, *tau_interval(tau, len(first)), len(first))


def between_replays(first: Replay, second: Replay) -> Mapping[int, Agreement | None]:
    """What two replays reach with each other, by level: the most that can be asked of any page."""
    found = {}
    others = {one.row: one for one in second.contenders}
    for connections in first.protocol.connections:
        pairs = [
            (first.rate(one, connections), second.rate(others[one.row], connections))
            for one in first.contenders
            if one.row in others
        ]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        found[connections] = agree([a for a, _ in both], [b for _, b in both])
    return found


def _level(replay: Replay, figures: Figures, connections: int) -> Level:
    by_row = _runs(replay, connections)
    published = figures.at(connections)
    then = {row: one.rate_per_s for row, one in published.items() if one.rate_per_s}
    now = {
        row: rate
        for row, one in by_row.items()
        if row in published and (rate := replay.rate(one, connections)) is not None
    }
    both = [row for row in then if row in now]
    ranks = [_ranks({row: rates[row] for row in both}) for rates in (then, now)]
    lines = []
    for row in published:
        one = by_row.get(row)
        spread = typical(one.rates_at(connections)) if one and row in both else None
        lines.append(
            Line(
                row=row,
                contender=one.name if one else None,
                then_per_s=then.get(row),
                now_per_s=now.get(row),
                ratio=now[row] / then[row] if row in both else None,
                low=spread.low / then[row] if spread else None,
                high=spread.high / then[row] if spread else None,
                rank_then=ranks[0].get(row),
                rank_now=ranks[1].get(row),
                why=None if row in now else _why(replay, one, row, connections),
            )
        )
    lines.sort(key=lambda line: -(line.then_per_s or -math.inf))
    agreement = agree([then[row] for row in both], [now[row] for row in both])
    return Level(connections, tuple(lines), agreement)


def _runs(replay: Replay, connections: int) -> dict[str, Contender]:
    """Published row -> its contender; of several the one that the aggregate puts first."""
    found: dict[str, Contender] = {}
    for one in replay.contenders:
        contender = found.get(one.row)
        if contender is None or (replay.rate(one, connections) or 0) > (
            replay.rate(contender, connections) or 0
        ):
            found[one.row] = one
    return found


def _ranks(rates: Mapping[str, float]) -> dict[str, int]:
    return {row: 1 + sum(other > rate for other in rates.values()) for row, rate in rates.items()}


def _why(replay: Replay, one: Contender | None, row: str, connections: int) -> str:
    if one is None:
        return replay.missing.get(row, "not in this run")
    if one.fault:
        return one.fault.splitlines()[0]
    if reasons := [trial.reason for trial in one.at(connections) if trial.reason]:
        return reasons[0].splitlines()[0]
    return "not measured at this level"
