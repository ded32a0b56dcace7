"""The profile of each server over the workloads of a run, and how well hello predicts them."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, Standing, analyze
from deadheat.report.model.view import RunView
from deadheat.stats.agreement import Agreement, compare
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Ranking
from deadheat.workload import HELLO, Level

MOVERS = 3


@dataclass(frozen=True, slots=True)
class Share:
    """A server's rate on one workload as a ratio to the best; None where that is unknown."""

    rate_per_s: float | None
    ratio: float | None
    low: float | None
    high: float | None
    server_cpu_us_per_request: float | None


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A server over the workloads; those that it does not answer are missing."""

    name: str  # as shown
    shares: Mapping[str, Share]


@dataclass(frozen=True, slots=True)
class Mover:
    """A server whose place differs between two workloads, among those that answer both.

    `places_apart`: the intervals of its places do not overlap. `cpu_us_more` is its CPU time per
    request on top of that on the first workload.
    """

    name: str
    place_before: int
    place: int
    places_apart: bool
    cpu_us_more: float | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well the order on one workload (`by`) is that on another, over those that answer both.

    None for `agreement` where one of the two has no ranking. `cpu_us_more` is the median over the
    contenders of what a request costs on top of one of `by`.
    """

    by: str
    workload: str
    agreement: Agreement | None
    movers: tuple[Mover, ...]
    cpu_us_more: float | None


@dataclass(frozen=True, slots=True)
class Profile:
    """Every server on every workload, in the order of the first, at each one's main level."""

    levels: tuple[Level, ...]
    rows: tuple[ProfileRow, ...]
    predictions: tuple[Prediction, ...]
    confidence: float | None


def profile(view: RunView) -> Profile | None:
    """None for a run of one workload, or of none that has a rate."""
    if not view.later:
        return None
    analyses = {each.workload: analyze(each) for each in view.by_workload if each.levels}
    if len(analyses) < 2:
        return None
    mains = {workload: analysis.main for workload, analysis in analyses.items()}
    by = HELLO if HELLO in analyses else next(iter(analyses))
    names = dict.fromkeys(s.contender.name for level in mains.values() for s in level.standings)
    standings = {
        workload: {standing.contender.name: standing for standing in level.standings}
        for workload, level in mains.items()
    }
    shown = {s.contender.name: s.name for level in mains.values() for s in level.standings}
    rows = [
        ProfileRow(
            shown[name],
            {
                workload: _share(view, by_name[name])
                for workload, by_name in standings.items()
                if name in by_name
            },
        )
        for name in names
    ]
    ranking = mains[by].ranking
    return Profile(
        levels=tuple(Level(name, level.connections) for name, level in mains.items()),
        rows=tuple(rows),
        predictions=tuple(
            _prediction(by, workload, analyses, standings)
            for workload in analyses
            if workload != by
        ),
        confidence=ranking.level.confidence if ranking else None,
    )


def sentences(overview: Profile) -> Iterator[str]:
    """How well hello predicts each workload, and what moves most, in sentences."""
    for each in overview.predictions:
        yield from texts_of(each)


def texts_of(each: Prediction) -> Iterator[str]:
    """Those of one workload."""
    yield _agreement_text(each)
    if each.cpu_us_more is not None:
        more = "more" if each.cpu_us_more >= 0 else "less"
        yield (
            f"a request of {each.workload} costs {abs(each.cpu_us_more):,.1f} µs {more} CPU time "
            f"than one of {each.by} (the median of the servers)"
        )
    if moved := list(map(mover_text, each.movers)):
        yield f"{each.workload} moves most: {'; '.join(moved)}"


def _agreement_text(each: Prediction) -> str:
    if each.agreement is None:
        return f"{each.by} and {each.workload} cannot be compared: one of them has no ranking"
    agreement = each.agreement
    interval = numbers.UNKNOWN
    if agreement.has_interval:
        interval = f"[{agreement.low:.2f}, {agreement.high:.2f}]"
    inverted = len(agreement.inversions)
    pairs = {0: "no pair is", 1: "1 pair is"}.get(inverted, f"{inverted} pairs are")
    return (
        f"{each.by} predicts {each.workload} with tau-b {agreement.tau_b:.2f} {interval} over "
        f"{numbers.count(agreement.contenders, 'server')}; {pairs} separated in opposite orders"
    )


def mover_text(mover: Mover) -> str:
    text = f"{one_line(mover.name, 40)} from place {mover.place_before} to {mover.place}"
    if mover.cpu_us_more is not None:
        text += f" ({mover.cpu_us_more:+,.1f} µs)"
    return text if mover.places_apart else f"{text}, though the places overlap"


def _share(view: RunView, standing: Standing) -> Share:
    ratio = standing.ratio_to_leader
    known = ratio is not None and standing.ranked and numbers.is_known(ratio.low, ratio.high)
    return Share(
        rate_per_s=standing.cell.rate_per_s(view.aggregate),
        ratio=ratio.ratio if ratio is not None and ratio.ratio == ratio.ratio else None,
        low=ratio.low if ratio is not None and known else None,
        high=ratio.high if ratio is not None and known else None,
        server_cpu_us_per_request=standing.cell.server_cpu_us_per_request,
    )


def _prediction(
    by: str,
    workload: str,
    analyses: Mapping[str, Analysis],
    standings: Mapping[str, Mapping[str, Standing]],
) -> Prediction:
    rankings = [analyses[name].main.ranking for name in (by, workload)]
    more_us = {
        name: other_us - own_us
        for name, standing in standings[workload].items()
        if name in standings[by]
        and (other_us := standing.cell.server_cpu_us_per_request) is not None
        and (own_us := standings[by][name].cell.server_cpu_us_per_request) is not None
    }
    median_us = statistics.median(more_us.values()) if more_us else None
    first, second = rankings
    if first is None or second is None:
        return Prediction(by, workload, None, (), median_us)
    try:
        agreement = compare(first, second)
    except ValueError:
        return Prediction(by, workload, None, (), median_us)
    common = {row.name for row in first.rows} & {row.name for row in second.rows}
    before, after = (_places(ranking, common) for ranking in (first, second))
    movers = [
        Mover(
            name=standings[by][name].name,
            place_before=before[name][0],
            place=after[name][0],
            places_apart=before[name][2] < after[name][1] or after[name][2] < before[name][1],
            cpu_us_more=more_us.get(name),
        )
        for name in before
        if before[name][0] != after[name][0]
    ]
    movers.sort(key=lambda m: (not m.places_apart, -abs(m.place - m.place_before), m.place))
    return Prediction(by, workload, agreement, tuple(movers[:MOVERS]), median_us)


def _places(ranking: Ranking, common: set[str]) -> dict[str, tuple[int, int, int]]:
    """The place of each among the `common`, and its lowest and highest place by the verdicts."""
    names = [row.name for row in ranking.rows if row.name in common]
    return {
        name: (place, *_bounds(ranking, name, names)) for place, name in enumerate(names, start=1)
    }


def _bounds(ranking: Ranking, name: str, names: Sequence[str]) -> tuple[int, int]:
    pairs = [ranking.pair(name, other) for other in names if other != name]
    separated = [pair for pair in pairs if pair.verdict is Verdict.SEPARATED]
    ahead = sum(pair.slower == name for pair in separated)
    behind = sum(pair.faster == name for pair in separated)
    return 1 + ahead, len(names) - behind
