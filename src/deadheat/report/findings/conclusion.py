"""What may be concluded, in sentences that every format shares."""

from collections.abc import Iterator

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level
from deadheat.report.findings.bounds import AtLeast, at_least
from deadheat.report.findings.capacity import capacity_statements
from deadheat.report.findings.precision import instrument
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import RunView
from deadheat.stats.decision import Effort, Verdict
from deadheat.stats.ranking import Pair, Ranking
from deadheat.stats.ratio import RatioInterval

NAMED = 4
HOPELESS_S = 86_400.0


def conclusions(view: RunView, analysis: Analysis) -> tuple[Statement, ...]:
    """The main level's verdicts, then the other levels, the machine's limits and the method."""
    return (
        *capacity_statements(view),
        *(_verdicts(view, analysis, analysis.main) if view.races else ()),
        *_other_levels(analysis),
        *instrument(view, analysis),
    )


def _verdicts(view: RunView, analysis: Analysis, level: Level) -> Iterator[Statement]:
    ranking = level.ranking
    if ranking is None:
        yield Statement("no order", _why_no_order(view, analysis))
        return
    neighbors = ranking.neighbors
    for names in ranking.dead_heats:
        yield Statement("dead heat", format.listing([_shown(view, name) for name in names]))
    separated = [pair for pair in neighbors if pair.verdict is Verdict.SEPARATED]
    if len(separated) > NAMED:
        closest = min(separated, key=lambda pair: pair.ratio.ratio)
        total = format.count(len(neighbors), "neighbouring pair")
        text = f"{len(separated)} of {total}; the closest: {_faster(view, closest)}"
        yield Statement("separated", text)
    else:
        yield from (Statement("separated", _faster(view, pair)) for pair in separated)
    for pair in neighbors:
        if pair.verdict is Verdict.EQUIVALENT:
            yield Statement("equivalent", f"{_apart(view, pair)}, within {_margin(ranking)}")
    undecided = [pair for pair in neighbors if pair.verdict is Verdict.UNDECIDED]
    for pair in undecided[:NAMED]:
        yield Statement("undecided", f"{_apart(view, pair)}; {_needs(pair.effort, analysis)}")
    if len(undecided) > NAMED:
        rest = f"{format.count(len(undecided) - NAMED, 'more pair')}"
        yield Statement("undecided", f"{rest}; for all, {_needs(ranking.effort, analysis)}")
    for standing in level.standings:
        if not standing.ranked:
            yield Statement("not ranked", f"{standing.name}: {standing.reason}")
    yield from (Statement("at least", _bound(view, one)) for one in at_least(view, level))


def _bound(view: RunView, one: AtLeast) -> str:
    name, first = one.contender.label or one.contender.name, _shown(view, one.beaten[0])
    rest = f" and the {len(one.beaten) - 1} below" if len(one.beaten) > 1 else ""
    return (
        f"{name} is faster than {first}{rest}, by {100 * (one.ratio_low - 1):.1f} % or more: "
        "the client was its limit"
    )


def _why_no_order(view: RunView, analysis: Analysis) -> str:
    """Why nothing is ranked, and what would change it."""
    if not any(standing.cell.trials for standing in analysis.main.standings):
        return "nothing was measured"
    if not any(standing.cell.valid for standing in analysis.main.standings):
        return "no trial was valid, so nothing is ranked: see the doubts"
    if view.state in format.UNENDED:
        return "too few blocks so far"
    missing = (
        "one start of each server does not show what a fresh start changes"
        if analysis.invocations == 1
        else "the contenders share too few valid blocks"
    )
    remedy = "A longer --budget" if view.settles else "The protocol settle"
    return (
        f"{missing}, so there is no interval and no rank; the rows are in the order of their "
        f"rates, which may be chance. {remedy} gives intervals"
    )


def _faster(view: RunView, pair: Pair) -> str:
    faster, slower = _shown(view, pair.faster), _shown(view, pair.slower)
    return f"{faster} before {slower}, by {difference(pair.ratio)}"


def _apart(view: RunView, pair: Pair) -> str:
    return (
        f"{_shown(view, pair.faster)} and {_shown(view, pair.slower)}, "
        f"{difference(pair.ratio)} apart"
    )


def difference(ratio: RatioInterval) -> str:
    """`1.2 % [-0.3, 2.7]`: how much faster the first is, with its interval if it has one."""
    percent = f"{100 * (ratio.ratio - 1):.1f} %"
    if ratio.high > format.UNKNOWN_FACTOR * ratio.low:
        return percent
    return f"{percent} [{100 * (ratio.low - 1):.1f}, {100 * (ratio.high - 1):.1f}]"


def _needs(effort: Effort | None, analysis: Analysis) -> str:
    if effort is None:
        return "too few blocks in common to say what would decide it"
    if effort.extra_blocks == 0:
        return "the next look may decide it"
    if (analysis.block_s or 0.0) * effort.extra_blocks > HOPELESS_S:
        return "a day of such blocks would not decide it"
    text = f"to decide it, about {format.count(effort.extra_blocks, 'more block')}"
    if effort.extra_invocations:
        text += f" in {format.count(effort.extra_invocations, 'fresh start')}"
    if analysis.block_s is not None:
        text += f", some {format.duration(effort.extra_blocks * analysis.block_s)}"
    return text


def _other_levels(analysis: Analysis) -> Iterator[Statement]:
    """Whether the other levels tell another story."""
    for level in analysis.levels[:-1]:
        if level.ranking is None or analysis.main.ranking is None:
            continue
        reversed_pairs = list(_reversed(level.ranking, analysis.main.ranking))
        neighbors = level.ranking.neighbors
        undecided = sum(pair.verdict is Verdict.UNDECIDED for pair in neighbors)
        text = (
            f"the other way round: {format.listing(reversed_pairs[:NAMED])}"
            if reversed_pairs
            else f"nothing contradicts the order at {analysis.main.connections:,}"
        )
        text += f"; {undecided} of {format.count(len(neighbors), 'neighboring pair')} undecided"
        yield Statement(f"at {level.connections:,}", text)


def _reversed(one: Ranking, other: Ranking) -> Iterator[str]:
    """Pairs that both levels separate, in opposite directions."""
    names = {row.name for row in other.rows}
    for pair in one.pairs:
        if pair.verdict is not Verdict.SEPARATED or not {pair.faster, pair.slower} <= names:
            continue
        there = other.pair(pair.faster, pair.slower)
        if there.verdict is Verdict.SEPARATED and there.faster == pair.slower:
            yield f"{pair.faster} before {pair.slower}"


def _margin(ranking: Ranking) -> str:
    return format.percent(ranking.margin, 0)


def _shown(view: RunView, name: str) -> str:
    return next((one.label or one.name for one in view.contenders if one.name == name), name)
