"""Two contenders of one run at one level: the verdict in a sentence, and the figures behind it."""

from dataclasses import dataclass

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, Standing
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import Pair

NAME_MAX = 40


@dataclass(frozen=True, slots=True)
class Versus:
    """`first` has the higher rate. Without a `pair`, one of the two has no rank."""

    connections: int
    first: Standing
    second: Standing
    pair: Pair | None
    confidence: float | None

    @property
    def dead_heat(self) -> bool:
        """Not separated, and the interval says something."""
        if self.pair is None or self.pair.verdict is Verdict.SEPARATED:
            return False
        return numbers.is_known(self.pair.ratio.low, self.pair.ratio.high)

    @property
    def headline(self) -> str:
        """`gin and echo: a dead heat` or `gin is 8 % faster than echo [1, 16]`."""
        first, second = (name_of(standing) for standing in (self.first, self.second))
        if self.pair is None:
            return f"{first} and {second}: no verdict"
        if self.dead_heat:
            return f"{first} and {second}: a dead heat"
        return f"{first} is {self._middle} faster than {second} {self.interval}"

    @property
    def brief(self) -> str:
        """The verdict without the names: `a dead heat`, `+8 % [1, 16]` or `no verdict`."""
        if self.pair is None:
            return "no verdict"
        return "a dead heat" if self.dead_heat else f"+{self._middle} {self.interval}"

    @property
    def detail(self) -> str:
        """How certain the headline is, or why there is no verdict."""
        if self.pair is None:
            unranked = self.first if not self.first.ranked else self.second
            reason = unranked.reason or "reason not recorded"
            return f"{name_of(unranked)} is not ranked: {one_line(reason, 80)}"
        if not self.dead_heat:
            confidence = numbers.percent(self.confidence or 0.95, 0)
            return f"{confidence} confidence, jointly for all pairs of the run"
        measured = f"{name_of(self.first)} measured {self._middle} faster {self.interval}"
        if self.pair.verdict is Verdict.EQUIVALENT:
            return f"They differ by less than matters: {measured}"
        return f"The data cannot separate them: {measured}"

    @property
    def interval(self) -> str:
        """`[1, 16]`, the interval of the difference in percent."""
        assert self.pair is not None
        _, ends = numbers.excess(self.pair.ratio.ratio, self.pair.ratio.low, self.pair.ratio.high)
        return f"[{ends[0]}, {ends[1]}]" if ends else numbers.UNKNOWN

    @property
    def _middle(self) -> str:
        assert self.pair is not None
        ratio = self.pair.ratio
        return f"{numbers.excess(ratio.ratio, ratio.low, ratio.high)[0]} %"


def name_of(standing: Standing) -> str:
    return one_line(standing.name, NAME_MAX)


def versus(level: LevelAnalysis, a: str, b: str) -> Versus:
    """Two contenders of a level, by name. Raises KeyError for another name."""
    by_name = level.by_name
    first, second = (by_name[name][1] for name in sorted((a, b), key=lambda name: by_name[name][0]))
    ranking = level.ranking
    pair = ranking.pair(a, b) if ranking and first.ranked and second.ranked else None
    if pair is not None:
        first, second = by_name[pair.faster][1], by_name[pair.slower][1]
    confidence = ranking.level.confidence if ranking else None
    return Versus(level.connections, first, second, pair, confidence)


def chosen_versus(view: RunView, analysis: Analysis, names: tuple[str, ...]) -> Versus:
    """The contenders `names` at the main level; without names, the first two.

    Raises `DeadheatError` if the run does not have two of them.
    """
    standings = analysis.main.standings if analysis.levels else ()
    by_shown = {standing.name: standing.contender.name for standing in standings}
    known = {standing.contender.name for standing in standings}
    for name in names:
        if name not in known and name not in by_shown:
            raise DeadheatError(
                f"--of {name}: run {view.run_id} has no such contender",
                f"its contenders: {', '.join(sorted(known)) or 'none'}",
            )
    chosen = [name if name in known else by_shown[name] for name in names] or [
        standing.contender.name for standing in standings[:2]
    ]
    if len(set(chosen)) != 2:
        raise DeadheatError(
            f"--of: expected two contenders, got {', '.join(chosen) or 'none'}",
            "name two: --of NAME --of NAME",
        )
    return versus(analysis.main, chosen[0], chosen[1])
