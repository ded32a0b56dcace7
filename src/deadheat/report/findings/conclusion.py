"""What a run shows, in sentences that all formats share: the answer, and the conclusions."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from deadheat import numbers
from deadheat.campaign.failures import OF_THE_MACHINE
from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.report.findings.analysis import (
    Analysis,
    AtLeast,
    LevelAnalysis,
    Standing,
    Statement,
    at_least,
    shown_name,
)
from deadheat.report.findings.common_rate import capacity_statements, rate_answer, rate_statements
from deadheat.report.findings.footprint import footprint_answer
from deadheat.report.findings.next_step import reasonable_s, remaining, time_text, too_close
from deadheat.report.findings.precision import (
    lone_answer,
    lone_rate,
    lone_statements,
    precision,
    runs_alone,
)
from deadheat.report.model.view import RunView, TrialView
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import Pair, Ranking
from deadheat.stats.ranking.ratio import RatioInterval

NAMED = 4


def conclusions(view: RunView, analysis: Analysis) -> tuple[Statement, ...]:
    """The main level's verdicts, then the other levels, what limited the rates, and the method."""
    return (
        *capacity_statements(view),
        *rate_statements(view),
        *(_verdicts(view, analysis, analysis.main) if view.races else ()),
        *_other_levels(analysis),
        *precision(view, analysis),
    )


def _verdicts(view: RunView, analysis: Analysis, level: LevelAnalysis) -> Iterator[Statement]:
    ranking = level.ranking
    if ranking is None and lone_rate(view, level) is not None:
        yield from lone_statements(view, level)
        return
    if ranking is None:
        yield Statement("no order", why_no_order(view, analysis, level))
        yield from _lower_bounds(view, level)
        return
    neighbors = ranking.neighbors
    for names in ranking.dead_heats:
        yield Statement("dead heat", numbers.listing([shown_name(view, name) for name in names]))
    separated = [pair for pair in neighbors if pair.verdict is Verdict.SEPARATED]
    if len(separated) > NAMED:
        closest = min(separated, key=lambda pair: pair.ratio.ratio)
        total = numbers.count(len(neighbors), "neighboring pair")
        text = f"{len(separated)} of {total}; the closest: {_faster_text(view, closest)}"
        yield Statement("separated", text)
    else:
        yield from (Statement("separated", _faster_text(view, pair)) for pair in separated)
    for pair in neighbors:
        if pair.verdict is Verdict.EQUIVALENT:
            margin = numbers.percent(ranking.margin, 0)
            yield Statement("equivalent", f"{_apart_text(view, pair)}, within {margin}")
    undecided = [pair for pair in neighbors if pair.verdict is Verdict.UNDECIDED]
    for pair in undecided[:NAMED]:
        yield Statement(
            "undecided", f"{_apart_text(view, pair)}; {_needs(view, analysis, [pair], 'it')}"
        )
    if len(undecided) > NAMED:
        others = numbers.count(len(undecided) - NAMED, "more pair")
        needs = _needs(view, analysis, undecided, "all pairs")
        yield Statement("undecided", f"{others}; {needs}")
    for standing in level.standings:
        if not standing.ranked:
            yield Statement("not ranked", f"{standing.name}: {standing.reason}")
    yield from _by_cpu_time(view, level)
    yield from _lower_bounds(view, level)


def _lower_bounds(view: RunView, level: LevelAnalysis) -> Iterator[Statement]:
    for bound in at_least(view, level):
        yield Statement("lower bound", _bound_text(view, bound))


def _by_cpu_time(view: RunView, level: LevelAnalysis) -> Iterator[Statement]:
    """The contenders that outran the client, by CPU time per request instead of by rate."""
    costs = sorted(
        (us, standing.name)
        for standing in level.standings
        if view.outran_client(standing.contender.name, level.connections)
        and (us := standing.cell.server_cpu_us_per_request) is not None
    )
    if costs:
        ranks = [
            f"{place} {name} {numbers.microseconds(us)} µs"
            for place, (us, name) in enumerate(costs, start=1)
        ]
        yield Statement("by CPU time", f"the client was the limit of {numbers.listing(ranks)}")


def _bound_text(view: RunView, bound: AtLeast) -> str:
    name, first = bound.contender.label or bound.contender.name, shown_name(view, bound.beaten[0])
    below = f" and the {len(bound.beaten) - 1} below it" if len(bound.beaten) > 1 else ""
    least = f"{100 * (bound.ratio_low - 1):.1f}"
    how_much = "faster than" if float(least) == 0 else f"at least {least} % faster than"
    return f"{name} is {how_much} {first}{below}: the client limited its rate"


def why_no_order(view: RunView, analysis: Analysis, level: LevelAnalysis) -> str:
    """Why nothing is ranked, and what would change it."""
    if level.lone is not None:
        return (
            f"only {level.lone.name} has a rate that counts, so nothing is ranked: see the cautions"
        )
    if not level.trials:
        return "nothing was measured"
    if not any(trial.valid for trial in level.trials):
        so = "" if runs_alone(view) else ", so nothing is ranked"
        return f"no trial was valid{so}: see the cautions"
    if view.state in wording.UNENDED:
        return "too few blocks so far"
    reason = (
        "one start of each server cannot show how much starts differ"
        if analysis.invocations == 1
        else trials_text(level) or "the contenders share too few valid blocks"
    )
    remedy = "A longer --budget" if view.settles else "The protocol settle"
    return (
        f"{reason}, so there are no intervals and no ranks; rows are in the order of their rates, "
        f"which may be chance. {remedy} gives intervals"
    )


def trials_text(level: LevelAnalysis) -> str:
    """`19 of 55 trials are valid, 30 failed the check steal`; empty if all are valid."""
    trials = level.trials
    valid = sum(trial.valid for trial in trials)
    if valid == len(trials):
        return ""
    code, failed = most_failed(trials)
    how = f"failed the check {code}" if code else "ended with a fault"
    if len(trials) == 1:
        return f"the only trial {how}"
    number = f"{valid:,}" if valid else "none"
    text = f"{number} of {numbers.count(len(trials), 'trial')} {'is' if valid < 2 else 'are'} valid"
    return f"{text}, {failed:,} {how}"


def most_failed(trials: Sequence[TrialView]) -> tuple[str, int]:
    """The gate that most of the trials that are not valid failed, and how many did.

    It is empty for trials that ended with a fault, before any gate was read. A gate of the machine
    comes first of those that as many failed: it may be their cause.
    """
    counts: Counter[str] = Counter()
    for trial in trials:
        codes = {gate.code for gate in trial.gates_failed}
        counts.update(codes if trial.measured else {""})
    cause = max(counts, key=lambda code: (counts[code], code in OF_THE_MACHINE, code))
    return cause, counts[cause]


def _faster_text(view: RunView, pair: Pair) -> str:
    faster, slower = shown_name(view, pair.faster), shown_name(view, pair.slower)
    return f"{faster} is faster than {slower} by {difference(pair.ratio)}"


def _apart_text(view: RunView, pair: Pair) -> str:
    return (
        f"{shown_name(view, pair.faster)} and {shown_name(view, pair.slower)}, "
        f"{difference(pair.ratio)} apart"
    )


def difference(ratio: RatioInterval) -> str:
    """`1.2 % [-0.3, 2.7]`: how much faster the first is; `1.2 % [unknown]` without an interval."""
    percent = numbers.percent(ratio.ratio - 1)
    if not numbers.is_known(ratio.low, ratio.high):
        return f"{percent} {numbers.UNKNOWN}"
    return f"{percent} [{', '.join(numbers.ends(ratio.low, ratio.high))}]"


def _needs(view: RunView, analysis: Analysis, pairs: Sequence[Pair], what: str) -> str:
    """What would decide `what`: more blocks and fresh starts, and the time they take."""
    if close := too_close(view, analysis, pairs):
        if len(pairs) == 1:
            return remaining(view, analysis, pairs[0]).text
        time = time_text(reasonable_s(view))
        are = "is" if len(close) == 1 else "are"
        return f"{len(close)} of the undecided pairs {are} too close to settle in {time}"
    efforts = [pair.effort for pair in pairs if pair.effort is not None]
    if len(efforts) < len(pairs):
        return f"too few common blocks to estimate what would decide {what}"
    blocks = max(effort.extra_blocks for effort in efforts)
    if blocks == 0:
        return f"the next look may decide {what}"
    text = f"to decide {what}: about {numbers.count(blocks, 'more block')}"
    if starts := max(effort.extra_invocations for effort in efforts):
        text += f" in {numbers.count(starts, 'fresh start')}"
    if analysis.block_s is not None:
        text += f", about {numbers.duration(blocks * analysis.block_s)}"
    return text


def _other_levels(analysis: Analysis) -> Iterator[Statement]:
    """Whether the other levels contradict the main one."""
    for level in analysis.levels[:-1]:
        if level.ranking is None or analysis.main.ranking is None:
            continue
        contradictions = list(_contradictions(level.ranking, analysis.main.ranking))
        neighbors = level.ranking.neighbors
        undecided = sum(pair.verdict is Verdict.UNDECIDED for pair in neighbors)
        text = (
            f"in the opposite order: {numbers.listing(contradictions[:NAMED])}"
            if contradictions
            else f"nothing contradicts the order at {analysis.main.connections:,}"
        )
        text += f"; {undecided} of {numbers.count(len(neighbors), 'neighboring pair')} undecided"
        yield Statement(f"at {level.connections:,}", text)


def _contradictions(ranking: Ranking, other: Ranking) -> Iterator[str]:
    """Pairs that both levels separate, in opposite directions."""
    names = {row.name for row in other.rows}
    for pair in ranking.pairs:
        if pair.verdict is not Verdict.SEPARATED or not {pair.faster, pair.slower} <= names:
            continue
        there = other.pair(pair.faster, pair.slower)
        if there.verdict is Verdict.SEPARATED and there.faster == pair.slower:
            yield f"{pair.faster} is faster than {pair.slower}"


def answer(view: RunView, level: LevelAnalysis) -> str:
    """Which contender is fastest at this level: one sentence without its period."""
    if (taken := footprint_answer(view)) is not None:
        return taken
    if not view.races:
        return rate_answer(view) or "This run searched for the highest rate that holds an objective"
    if (lone := lone_rate(view, level)) is not None:
        return lone_answer(lone)
    ranking, ranked = level.ranking, level.ranked
    if level.lone is not None:
        return f"No ranking{_here(view)}: only {level.lone.name} has a rate that counts"
    if ranking is None or not ranked:
        no_interval = trials_text(level) or "no comparison has an interval"
        why = no_interval if level.trials else "nothing was measured"
        what = "rate" if runs_alone(view) else "ranking"
        return f"No {what}{_here(view)}: {why}"
    return f"{_above(view, level)}{_lead_of(ranking, ranked)}"


def _above(view: RunView, level: LevelAnalysis) -> str:
    """`a is faster than b: the client limited its rate; of the others, `; b has the first rank."""
    first = level.ranked[0]
    bounds = at_least(view, level)
    names = {each.contender.name for each in bounds if first.contender.name in each.beaten}
    if not names:
        return ""
    above = _names([standing for standing in level.standings if standing.contender.name in names])
    verb, rates = ("is", "its rate") if len(names) == 1 else ("are", "their rates")
    than = f"faster than {one_line(first.name, 40)}"
    return f"{above} {verb} {than}: the client limited {rates}; of the others, "


def _lead_of(ranking: Ranking, ranked: tuple[Standing, ...]) -> str:
    leaders = [standing for standing in ranked if standing.row and standing.row.rank_low == 1]
    if len(leaders) == 1:
        return f"{leaders[0].name} is fastest: {_lead(ranking, ranked)} ahead of the next"
    group = ranking.dead_heats[0] if ranking.dead_heats else ()
    heat = [standing for standing in ranked if standing.contender.name in group]
    if ranked[0] not in heat:  # the second is separated, and one below it is not
        return _dead_heat(ranking, ranked, leaders)
    others = [standing for standing in leaders if standing not in heat]
    may = f"; {_names(others)} may be as fast" if others else ""
    return f"{_dead_heat(ranking, ranked, heat)}{may}"


def _here(view: RunView) -> str:
    return " at this level" if len(view.levels) > 1 else ""


def trust(view: RunView, analysis: Analysis, level: LevelAnalysis) -> str:
    """How certain the order is: what is separated, which checks failed, what is not ranked."""
    sentences = []
    ranking = level.ranking
    if ranking is not None and len(ranking.rows) > 1:
        sentences.append(_separated(ranking))
    trials = level.trials
    failed = sum(not trial.valid for trial in trials)
    if trials:
        sentences.append(
            f"{failed:,} of {numbers.count(len(trials), 'trial')} failed a check and "
            f"{'does' if failed == 1 else 'do'} not count"
            if failed
            else f"{_every_trial(len(trials))} of servers passed every check"
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


def _every_trial(trials: int) -> str:
    return f"All {trials:,} trials" if trials > 1 else "The only trial"


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
