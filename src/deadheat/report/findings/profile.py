"""The profile of each server over the workloads of a run, and how well hello predicts them."""

import contextlib
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, Standing, analyze
from deadheat.report.findings.transports import TransportCost, cost_sentences, transport_costs
from deadheat.report.model.series import SHAPE, Finite
from deadheat.report.model.view import RunView
from deadheat.stats.agreement import Agreement, compare, signs
from deadheat.stats.ranking.ranks import Ranking
from deadheat.workload import HELLO, Level, parts_of

MOVERS = 3


@dataclass(frozen=True, slots=True)
class Share:
    """A server on one workload. What is unknown is null."""

    __pydantic_config__ = SHAPE

    workload: str
    connections: int
    rate_per_s: Finite | None
    ratio: Finite | None
    """To the best rate on this workload, with its interval."""
    low: Finite | None
    high: Finite | None
    server_cpu_us_per_request: Finite | None


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A server over the workloads that it answers."""

    __pydantic_config__ = SHAPE

    name: str
    shares: tuple[Share, ...]

    def on(self, workload: str) -> Share | None:
        return next((share for share in self.shares if share.workload == workload), None)


@dataclass(frozen=True, slots=True)
class Mover:
    """A server whose place differs, among those that answer both workloads."""

    __pydantic_config__ = SHAPE

    name: str
    place_before: int
    place: int
    places_apart: bool
    """The intervals of its two places do not overlap."""
    cpu_us_more: Finite | None
    """CPU time per request on top of that on the first workload."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well the order on one workload is that on another."""

    __pydantic_config__ = SHAPE

    by: str
    workload: str
    tau_b: Finite | None
    """Kendall's tau-b; null where one of the two has no ranking."""
    low: Finite | None
    high: Finite | None
    """A 95 % interval for servers drawn like these (Fieller, Hartley and Pearson 1957); null for
    fewer than five."""
    servers: int
    inversions: tuple[tuple[str, str], ...]
    """Pairs that both workloads separate, in opposite order."""
    movers: tuple[Mover, ...]
    """The servers that move most, those whose places are apart first."""
    cpu_us_more: Finite | None
    """The median of `cpu_us_more` over all servers."""
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Every server on every workload, in the order of the first, at each one's main level."""

    levels: tuple[Level, ...]
    rows: tuple[ProfileRow, ...]
    predictions: tuple[Prediction, ...]
    transports: tuple[TransportCost, ...]


def profile(view: RunView) -> Profile | None:
    """None for a run of one workload, or of none that has a rate. The view keeps it."""
    return view.kept.once("profile", lambda: _profile(view)) if view.later else None


def _profile(view: RunView) -> Profile | None:
    analyses = {each.workload: analyze(each) for each in view.by_workload if each.levels}
    if len(analyses) < 2:
        return None
    mains = {workload: analysis.main for workload, analysis in analyses.items()}
    by = HELLO if HELLO in analyses else next(iter(analyses))
    standings = {
        workload: {standing.contender.name: standing for standing in level.standings}
        for workload, level in mains.items()
    }
    shown = {s.contender.name: s.name for level in mains.values() for s in level.standings}
    connections = {workload: level.connections for workload, level in mains.items()}
    levels = tuple(itertools.starmap(Level, connections.items()))
    return Profile(
        levels=levels,
        rows=tuple(
            ProfileRow(
                label,
                tuple(
                    _share(view, level, standings[level.workload][name])
                    for level in levels
                    if name in standings[level.workload]
                ),
            )
            for name, label in shown.items()
        ),
        predictions=tuple(
            _prediction(by, workload, analyses, standings)
            for workload in analyses
            if workload != by
        ),
        transports=tuple(transport_costs(view.by_workload, connections)),
    )


def sentences(overview: Profile) -> Iterator[str]:
    """What transports cost, how well hello predicts each workload, and what moves most."""
    yield from cost_sentences(overview.transports)
    for each in overview.predictions:
        yield from each.text


def interval_text(each: Prediction) -> str:
    """`[0.50, 0.98]`, the interval of its tau-b."""
    if each.low is None or each.high is None:
        return numbers.UNKNOWN
    return f"[{each.low:.2f}, {each.high:.2f}]"


def _texts(each: Prediction, has_order: bool) -> Iterator[str]:
    if has_order:
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
    if not each.servers:
        return f"{each.by} and {each.workload} cannot be compared: one of them has no ranking"
    inverted = len(each.inversions)
    pairs = {0: "no pair is", 1: "1 pair is"}.get(inverted, f"{inverted} pairs are")
    tau_b = math.nan if each.tau_b is None else each.tau_b
    return (
        f"{each.by} predicts {each.workload} with tau-b {tau_b:.2f} {interval_text(each)} over "
        f"{numbers.count(each.servers, 'server')}; {pairs} separated in opposite orders"
    )


def mover_text(mover: Mover) -> str:
    text = f"{one_line(mover.name, 40)} from place {mover.place_before} to {mover.place}"
    if mover.cpu_us_more is not None:
        text += f" ({mover.cpu_us_more:+,.1f} µs)"
    return text if mover.places_apart else f"{text}, though the places overlap"


def _share(view: RunView, level: Level, standing: Standing) -> Share:
    ratio = standing.ratio_to_leader
    known = ratio is not None and standing.ranked and numbers.is_known(ratio.low, ratio.high)
    return Share(
        workload=level.workload,
        connections=level.connections,
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
    first, second = (analyses[name].main.ranking for name in (by, workload))
    # What a transport costs is known with intervals: see `transport_costs`.
    is_transport = parts_of(by)[0] == parts_of(workload)[0]
    more_us = {
        name: other_us - own_us
        for name, standing in standings[workload].items()
        if not is_transport
        and name in standings[by]
        and (other_us := standing.cell.server_cpu_us_per_request) is not None
        and (own_us := standings[by][name].cell.server_cpu_us_per_request) is not None
    }
    agreement: Agreement | None = None
    movers: list[Mover] = []
    if first is not None and second is not None:
        with contextlib.suppress(ValueError):  # fewer than two servers answer both
            agreement = compare(first, second)
            names = {name: standing.name for name, standing in standings[by].items()}
            movers = _movers(first, second, names, more_us)
    known = agreement is not None and agreement.has_interval
    tau_b = agreement.tau_b if agreement and math.isfinite(agreement.tau_b) else None
    each = Prediction(
        by=by,
        workload=workload,
        tau_b=tau_b,
        low=agreement.low if agreement and known else None,
        high=agreement.high if agreement and known else None,
        servers=agreement.contenders if agreement else 0,
        inversions=agreement.inversions if agreement else (),
        movers=tuple(movers[:MOVERS]),
        cpu_us_more=statistics.median(more_us.values()) if more_us else None,
        text=(),
    )
    has_order = len(standings[by].keys() & standings[workload].keys()) > 1
    return replace(each, text=tuple(_texts(each, has_order)))


def _movers(
    first: Ranking, second: Ranking, names: Mapping[str, str], more_us: Mapping[str, float]
) -> list[Mover]:
    """Those whose places differ, those whose places are apart first, then by how far they move."""
    common = {row.name for row in first.rows} & {row.name for row in second.rows}
    before, after = (_places(ranking, common) for ranking in (first, second))
    movers = [
        Mover(
            name=names[name],
            place_before=before[name][0],
            place=after[name][0],
            places_apart=before[name][2] < after[name][1] or after[name][2] < before[name][1],
            cpu_us_more=more_us.get(name),
        )
        for name in before
        if before[name][0] != after[name][0]
    ]
    return sorted(
        movers, key=lambda m: (not m.places_apart, -abs(m.place - m.place_before), m.place)
    )


def _places(ranking: Ranking, common: set[str]) -> dict[str, tuple[int, int, int]]:
    """The place of each among the `common`, and its lowest and highest place by the verdicts."""
    names = [row.name for row in ranking.rows if row.name in common]
    separated = signs(ranking, names)
    ahead, behind = (separated < 0).sum(axis=1), (separated > 0).sum(axis=1)
    return {
        name: (place + 1, 1 + int(ahead[place]), len(names) - int(behind[place]))
        for place, name in enumerate(names)
    }
