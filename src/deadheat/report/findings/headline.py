"""Which contender is fastest, and how certain that is."""

import itertools
from collections import Counter

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, Level, Standing
from deadheat.report.findings.conclusion import trials_text
from deadheat.report.findings.lone import lone_answer, lone_rate, runs_alone
from deadheat.report.model.view import RunView
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Ranking

NAMED = 4


def answer(view: RunView, level: Level) -> str:
    """Which contender is fastest at this level: one sentence without its period."""
    if not view.races:
        return "This run searched for the highest rate that holds an objective"
    if (lone := lone_rate(view, level)) is not None:
        return lone_answer(lone)
    ranking, ranked = level.ranking, level.ranked
    if level.lone is not None:
        return f"No ranking{_here(view)}: only {level.lone.name} has a rate that counts"
    if ranking is None or not ranked:
        why = "nothing was measured"
        if any(standing.cell.trials for standing in level.standings):
            why = trials_text(level) or "no comparison has an interval"
        what = "rate" if runs_alone(view) else "ranking"
        return f"No {what}{_here(view)}: {why}"
    leaders = [standing for standing in ranked if standing.row and standing.row.rank_low == 1]
    if len(leaders) == 1:
        return f"{leaders[0].name} is fastest: {_lead(ranking, ranked)} ahead of the next"
    return _dead_heat(ranking, ranked, leaders)


def _here(view: RunView) -> str:
    return " at this level" if len(view.levels) > 1 else ""


def trust(view: RunView, analysis: Analysis, level: Level) -> str:
    """How certain the order is: what is separated, which checks failed, what is not ranked."""
    sentences = []
    ranking = level.ranking
    if ranking is not None and len(ranking.rows) > 1:
        sentences.append(_separated(ranking))
    trials = [trial for standing in level.standings for trial in standing.cell.trials]
    failed = sum(not trial.valid for trial in trials)
    if trials:
        sentences.append(
            f"{failed:,} of {numbers.count(len(trials), 'trial')} failed a check and "
            f"{'does' if failed == 1 else 'do'} not count"
            if failed
            else f"All {numbers.count(len(trials), 'trial')} of servers passed every check"
        )
    ranked = level.ranked
    left_out = [standing for standing in level.standings if not standing.ranked]
    if ranked and view.races:
        if measured := [standing for standing in left_out if standing.cell.trials]:
            sentences.append(f"Not ranked: {_names(measured)}{_failed_gates(view, measured)}")
        if unmeasured := [standing for standing in left_out if not standing.cell.trials]:
            sentences.append(f"Not measured: {_names(unmeasured)}")
    if analysis.blocks and view.state != "complete":
        sentences.append(f"The run is not complete ({view.state})")
    return ". ".join(sentences)


def _lead(ranking: Ranking, ranked: tuple[Standing, ...]) -> str:
    """`23 % (1 to 49 %)`: how much faster the first is than the second."""
    ratio = ranking.pair(ranked[0].contender.name, ranked[1].contender.name).ratio
    middle, interval = numbers.excess(ratio.ratio, ratio.low, ratio.high)
    return f"{middle} % ({interval[0]} to {interval[1]} %)" if interval else f"{middle} %"


def _dead_heat(ranking: Ranking, ranked: tuple[Standing, ...], leaders: list[Standing]) -> str:
    """`a and b are in a dead heat for the lead`, and whether that is shown or only not decided."""
    names = [leader.contender.name for leader in leaders]
    pairs = [ranking.pair(a, b) for a, b in itertools.combinations(names, 2)]
    everyone = len(leaders) == len(ranked)
    who = f"All {len(leaders)}" if everyone and len(leaders) > NAMED else _names(leaders)
    where = "" if everyone else " for the lead"
    if all(pair.verdict is Verdict.EQUIVALENT for pair in pairs):
        margin = numbers.percent(ranking.margin, 0)
        return f"{who} are in a dead heat{where}, within {margin} of each other"
    return f"{who} are in a dead heat{where}: the data cannot separate them"


def _separated(ranking: Ranking) -> str:
    separated = sum(pair.verdict is Verdict.SEPARATED for pair in ranking.pairs)
    confidence = numbers.percent(ranking.level.confidence, 0)
    pairs = numbers.count(len(ranking.pairs), "pair")
    verb = "is" if separated == 1 else "are"
    return f"{separated:,} of {pairs} {verb} separated, jointly at {confidence}"


def _failed_gates(view: RunView, standings: list[Standing]) -> str:
    """` (client_cpu and ceiling)`: the checks that these failed most often, if any."""
    codes: Counter[str] = Counter()
    for standing in standings:
        over_all = view.outran_client(standing.contender.name, standing.cell.connections)
        for trial in standing.cell.trials:
            codes.update(gate.code for gate in (*over_all, *trial.gates_failed))
    most = [code for code, _ in codes.most_common(2)]
    return f" ({numbers.listing(most)})" if most else ""


def _names(standings: list[Standing]) -> str:
    names = [one_line(standing.name, 40) for standing in standings]
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return numbers.listing(names)
