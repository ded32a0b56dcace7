"""What an edition says: changes since an older one, outdated versions, what it separates, and who
met whom in a run.
"""

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deadheat import numbers
from deadheat.edition.model import BoardLevel, Edition, EditionPart, PartRun, ServerFacts
from deadheat.edition.parts import BoardState, Spread
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import LevelAnalysis, analyze
from deadheat.report.findings.versus import Versus, versus
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.change import UnpairedChange, relative_changes
from deadheat.stats.ranking.decision import Verdict
from deadheat.workload import HELLO, Level

FIGURES = (  # key, heading, what it is
    ("cpu", "CPU", "CPU time per request, µs"),
    ("p99", "p99", "the 99th percentile of the service time, ms"),
    ("memory", "memory", "peak memory, MiB"),
    ("cold", "start", "from the start of a process to its first answer, ms"),
    ("head", "head", "bytes of the head of an answer"),
)
COST = ("cost", "cost", "CPU time per request at a common rate, µs")


def changes(before: Edition, after: Edition) -> dict[Level, dict[str, UnpairedChange]]:
    """The change of each server of both editions, beside the others of both, by level.

    All intervals of a level hold jointly at 95 %. Levels without slices in both have none.
    """
    older = {each.level: each for each in before.levels}
    return {
        each.level: _changes(older[each.level], each)
        for each in after.levels
        if each.level in older
    }


def _changes(before: BoardLevel, after: BoardLevel) -> dict[str, UnpairedChange]:
    if before.estimate is None or after.estimate is None:
        return {}
    ranked = [
        {row.name for row in (each.ranking.rows if each.ranking else ())}
        for each in (before, after)
    ]
    names = [name for name in before.names if name in ranked[0] & ranked[1]]
    if len(names) < 2:
        return {}
    places = [np.array([each.names.index(name) for name in names]) for each in (before, after)]
    alpha = ErrorLevel(comparisons=len(names)).alpha
    ratios = relative_changes(before.estimate, after.estimate, (places[0], places[1]), alpha)
    return dict(zip(names, ratios, strict=True))


def outdated(servers: Mapping[str, ServerFacts]) -> dict[str, str]:
    """The contenders of which the edition has a newer version: name -> that version."""
    newest: dict[tuple[str, str], str] = {}
    for facts in servers.values():
        key = facts.language, facts.framework
        if facts.framework and _version(facts.version) > _version(newest.get(key, "")):
            newest[key] = facts.version
    return {
        facts.name: best
        for facts in servers.values()
        if facts.version
        and (best := newest.get((facts.language, facts.framework), ""))
        and _major(best) > _major(facts.version)
    }


def _version(text: str) -> tuple[int, ...]:
    """The numbers of a version, for their order."""
    first, *_ = [*text.replace(",", " ").split(), ""]
    parts = first.lstrip("v").replace("-", ".").split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def _major(text: str) -> tuple[int, int]:
    """What tells releases apart: a patch is not outdated."""
    parts = (*_version(text), 0, 0)
    return parts[0], parts[1]


def separates_text(levels: Sequence[BoardLevel]) -> str:
    """The sentence at the top of the board: what each workload separates."""
    names: dict[str | None, list[str]] = {}  # by the difference as it is shown
    for level in levels:
        shown = None if level.separates is None else numbers.percent(level.separates)
        names.setdefault(shown, []).append(one_line(level.level.workload, 20))
    unknown = names.pop(None, [])
    if not names:
        return "What this board separates is not known: it has too few fresh starts."
    several = len(names) > 1 or bool(unknown)
    differences = [
        f"{shown} and more" + (f" on {numbers.listing(of)}" if several else "")
        for shown, of in names.items()
    ]
    known = f"This board separates differences of {'; '.join(differences)}."
    if not unknown:
        return known
    return f"{known} On {numbers.listing(unknown)} that is not known: too few fresh starts."


def state_of(edition: Edition, parts: Iterable[EditionPart]) -> BoardState:
    """What a sitting needs to know of the edition that it wrote from these parts."""
    pairs = [
        (level.level.workload, pair.faster, pair.slower)
        for level in edition.levels
        for pair in (level.ranking.neighbors if level.ranking else ())
        if pair.verdict is Verdict.UNDECIDED
    ]
    levels = [level.sliced for part in parts for level in part.levels if level.sliced]
    fits = [level.fit.estimate for level in levels]
    instances = [float(x) for fit in fits for x in fit.instance_variance if x == x]
    slices = [float(x) for fit in fits for x in fit.slice_variance if x == x]
    spread = (
        Spread(statistics.median(instances), statistics.median(slices), measured=True)
        if instances and slices
        else Spread()
    )
    unranked = [
        (level.level.workload, name)
        for level in edition.levels
        for name in level.cells
        if name in level.reasons and edition.servers[name].fault is None
    ]
    return BoardState(separates_text(edition.levels), tuple(pairs), tuple(unranked), spread)


def why_not(level: BoardLevel, name: str) -> str:
    """Why a server has no rank in a column."""
    if name not in level.cells:
        return f"it was not raced on {level.level.workload}"
    return level.reasons.get(name) or "its interval is unknown"


def share_text(share: float) -> str:
    """`87`, or `8.7` and `0.87` for small shares: two digits at least."""
    percent = 100 * share
    decimals = 0 if percent >= 10 else 1 if percent >= 1 else 2
    return f"{percent:.{decimals}f}"


def older_text(level: BoardLevel, name: str) -> str | None:
    """The note of a cell of an older build; None for a cell of the newest build."""
    if name not in level.older:
        return None
    version = one_line(level.older[name], 40)
    return f"an older build, version {version}" if version else "an older build"


def shown_figures(edition: Edition) -> tuple[tuple[str, str, str], ...]:
    """The columns of other figures; that of cost with its rates, where a run offered them."""
    if not edition.costs:
        return FIGURES
    rates = ", ".join(
        f"{numbers.rate(cost.offered_rate_per_s)} requests/s on {one_line(workload, 20)}"
        for workload, cost in edition.costs.items()
    )
    key, heading, title = COST
    return (*FIGURES, (key, heading, f"{title}: {rates}"))


def figure_values(edition: Edition, name: str, level: BoardLevel) -> dict[str, float | None]:
    """The other figures of a server at a level, in the units of the table."""
    facts, cost = edition.servers[name], edition.costs.get(level.level.workload)
    figures = level.cells.get(name)
    memory = figures.memory_bytes if figures else None
    p99_us = figures.p99_us if figures else None
    return {
        "cpu": figures.cpu_us if figures else None,
        "p99": p99_us / 1000 if p99_us is not None else None,
        "memory": memory / numbers.MIB if memory is not None else None,
        "cold": 1000 * facts.cold_start_s if facts.cold_start_s is not None else None,
        "head": facts.head_bytes,
        "cost": cost.cpu_us.get(name) if cost else None,
    }


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two contenders at one level of a run, with the verdict."""

    run: PartRun
    level: Level
    names: tuple[str, str]  # the one with the higher rate first
    headline: str
    detail: str
    rates_per_s: tuple[float | None, float | None]
    p99_us: tuple[float | None, float | None]


MetLevel = tuple[RunView, LevelAnalysis, list[Versus]]


def met_levels(view: RunView, main: Level | None) -> list[MetLevel]:
    """Every level of a run with the view of its workload, and the pairs that have a page.

    The main level is the first: a card shows it.
    """

    def order(met: MetLevel) -> tuple[bool, bool, Level]:
        at = Level(met[0].workload, met[1].connections)
        return at != main, at.workload != HELLO, at

    levels = [
        (each, level, _pairs_of(level))
        for each in view.by_workload
        for level in analyze(each).levels
    ]
    return sorted(levels, key=order)


def _pairs_of(level: LevelAnalysis) -> list[Versus]:
    """The pairs of a level that have a page: neighbors in its order, and servers of one language.

    The number of all pairs grows with the square of the servers.
    """
    names = [standing.contender.name for standing in level.ranked]
    pairs = dict.fromkeys(itertools.pairwise(names))
    by_language: dict[str, list[str]] = {}
    for standing in level.ranked:
        if language := standing.contender.language:
            by_language.setdefault(language, []).append(standing.contender.name)
    for several in by_language.values():
        pairs |= dict.fromkeys(itertools.combinations(several, 2))
    return [versus(level, a, b) for a, b in pairs]


def meetings_of(run: PartRun, levels: Sequence[MetLevel]) -> list[Meeting]:
    """Those of a run, in the order of its levels."""
    return [
        Meeting(
            run=run,
            level=Level(view.workload, pair.connections),
            names=(pair.first.contender.name, pair.second.contender.name),
            headline=pair.headline,
            detail=pair.detail,
            rates_per_s=(
                pair.first.cell.rate_per_s(view.aggregate),
                pair.second.cell.rate_per_s(view.aggregate),
            ),
            p99_us=(pair.first.cell.service["p99"], pair.second.cell.service["p99"]),
        )
        for view, _, pairs in levels
        for pair in pairs
    ]
