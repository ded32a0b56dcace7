"""What a board keeps of a run: few figures, so that many runs fit into memory."""

import datetime
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, Standing, analyze
from deadheat.report.findings.common_rate import rate_levels
from deadheat.report.findings.conclusion import answer
from deadheat.report.findings.versus import Versus, versus
from deadheat.report.formats.tables import of_leader, rank
from deadheat.report.model.view import RunView
from deadheat.workload import Level


@dataclass(frozen=True, slots=True)
class SiteRun:
    """One run. `answer` is that of its main level."""

    run_id: str
    started_at: datetime.datetime
    state: str
    protocol: str
    machine: str
    answer: str
    level: Level | None  # the main one


@dataclass(frozen=True, slots=True)
class Figures:
    """One contender at one level of a run; texts as the report has them."""

    run: SiteRun
    level: Level
    name: str
    language: str | None
    version: str | None
    rank: str
    of_fastest: str
    rate_per_s: float | None
    slowest_per_s: float | None
    fastest_per_s: float | None
    p99_us: float | None
    cpu_us: float | None
    memory_bytes: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two contenders at one level of a run, with the verdict."""

    run: SiteRun
    level: Level
    names: tuple[str, str]  # the one with the higher rate first
    headline: str
    brief: str
    detail: str
    rates_per_s: tuple[float | None, float | None]
    p99_us: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class CommonCost:
    """CPU time per request at one offered rate, of the servers that hold it."""

    offered_rate_per_s: float
    cpu_us: Mapping[str, float]


MetLevel = tuple[RunView, LevelAnalysis, list[Versus]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A run, its contenders, and the pairs that have a page, over all levels of all workloads."""

    run: SiteRun
    figures: tuple[Figures, ...]
    meetings: tuple[Meeting, ...]


def entry_of(view: RunView, levels: Sequence[MetLevel]) -> Entry:
    run = _run(view, analyze(view))
    return Entry(
        run,
        figures=tuple(
            _figures(each, run, level, standing)
            for each, level, _ in levels
            for standing in level.standings
            if standing.cell.trials
        ),
        meetings=tuple(_meeting(each, run, pair) for each, _, pairs in levels for pair in pairs),
    )


def levels_of(view: RunView) -> list[MetLevel]:
    """Every level of a run with the view of its workload, and the pairs that have a page."""
    return [
        (each, level, _pairs_of(level))
        for each in view.by_workload
        for level in analyze(each).levels
    ]


def _pairs_of(level: LevelAnalysis) -> list[Versus]:
    """The pairs of a level that have a page: neighbors in its order, and servers of one language.

    All pairs would be n squared, and nobody asks about most of them.
    """
    ranked = level.ranked
    names = [standing.contender.name for standing in ranked]
    pairs = dict.fromkeys(itertools.pairwise(names))
    by_language: dict[str, list[str]] = {}
    for standing in ranked:
        by_language.setdefault(standing.contender.language or "", []).append(
            standing.contender.name
        )
    for language, several in by_language.items():
        if language:
            pairs |= dict.fromkeys(itertools.combinations(several, 2))
    return [versus(level, a, b) for a, b in pairs]


def _run(view: RunView, analysis: Analysis) -> SiteRun:
    server = next((host for host in view.hosts if host.role == "server"), None)
    main = analysis.main if analysis.levels else None
    of = f"{one_line(view.workload)}: " if len(view.workloads) > 1 else ""
    return SiteRun(
        run_id=view.run_id,
        started_at=view.started_at,
        state=view.state,
        protocol=view.protocol.name,
        machine=wording.machine(server.fingerprint) if server else "unknown machine",
        answer=f"{of}{answer(view, main)}." if main else "Nothing was measured.",
        level=Level(view.workload, main.connections) if main else None,
    )


def _figures(view: RunView, run: SiteRun, level: LevelAnalysis, standing: Standing) -> Figures:
    cell, contender = standing.cell, standing.contender
    slowest, fastest = cell.spread_per_s or (None, None)
    return Figures(
        run=run,
        level=Level(view.workload, level.connections),
        name=contender.name,
        language=contender.language,
        version=contender.version,
        rank=rank(standing),
        of_fastest=of_leader(standing),
        rate_per_s=cell.rate_per_s(view.aggregate),
        slowest_per_s=slowest,
        fastest_per_s=fastest,
        p99_us=cell.service["p99"],
        cpu_us=cell.server_cpu_us_per_request,
        memory_bytes=cell.memory_peak_bytes,
        reason=standing.reason,
    )


def _meeting(view: RunView, run: SiteRun, pair: Versus) -> Meeting:
    first, second = pair.first, pair.second
    return Meeting(
        run=run,
        level=Level(view.workload, pair.connections),
        names=(first.contender.name, second.contender.name),
        headline=pair.headline,
        brief=pair.brief,
        detail=pair.detail,
        rates_per_s=(first.cell.rate_per_s(view.aggregate), second.cell.rate_per_s(view.aggregate)),
        p99_us=(first.cell.service["p99"], second.cell.service["p99"]),
    )


def cost_of(view: RunView) -> CommonCost | None:
    """Of a run at common rates; the lowest is held by the most servers."""
    levels = rate_levels(view)
    if not levels:
        return None
    cells = {each.contender.name: each.cell for each in levels[0].cost if each.row is not None}
    costs_us = {name: cell.server_cpu_us_per_request for name, cell in cells.items()}
    return CommonCost(
        levels[0].offered_rate_per_s,
        {name: cpu_us for name, cpu_us in costs_us.items() if cpu_us is not None},
    )
