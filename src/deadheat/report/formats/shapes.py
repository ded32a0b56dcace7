"""A run's rates in the layout of the published page whose rows its contenders repeat.

woo-2016 separates one core from several, kzmake-2018 has a table of languages and frameworks,
landshark-2009 a row for each server with its rate and its mean time. Any other run with several
languages is shown by language. This table is in addition to the ranking.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, Standing
from deadheat.report.formats.tables import Column, column, rank, rate
from deadheat.report.model.facts import grouped
from deadheat.report.model.view import RunView

Groups = Mapping[str, Sequence[Standing]]
SINGLE, MULTI = "Single core (one worker)", "Multicore (several workers)"
BY_LANGUAGE = {"kzmake-2018", "costajob-2020"}  # whose rows are named `language, framework`
# It has one worker and a thread for each connection; woo-2016 lists it with the multicore rows.
THREADED = "Hunchentoot (multi-threaded-taskmaster)"
ORDERED_AT = 100  # connections; all these pages order their rows at this level


def by_cores(standings: Sequence[Standing]) -> Groups:
    """One worker, then several, as in woo-2016; without empty groups."""
    groups = grouped(standings, lambda each: MULTI if _has_several_workers(each) else SINGLE)
    return {head: groups[head] for head in (SINGLE, MULTI) if head in groups}


def by_language(standings: Sequence[Standing]) -> Groups:
    """A group for each language, as in kzmake-2018, in the order of its first standing."""
    return grouped(standings, lambda standing: standing.contender.language or "unknown language")


def framework(standing: Standing) -> str:
    """`cowboy + plug` of `Elixir, cowboy + plug`: the name without its language."""
    pages = {row.comparison for row in standing.contender.published if row.row == standing.name}
    return standing.name.partition(", ")[2] if BY_LANGUAGE & pages else standing.name


def _has_several_workers(standing: Standing) -> bool:
    return standing.contender.workers > 1 or standing.contender.label == THREADED


@dataclass(frozen=True, slots=True)
class Shape:
    """Tables by heading; a single table has an empty heading."""

    title: str
    tables: Mapping[str, Sequence[Column]]


def shape(view: RunView, analysis: Analysis) -> Shape | None:
    """None if nothing was compared, or if neither a page nor the language groups the rows."""
    if not view.races or not analysis.levels or not view.contenders:
        return None
    page = stood_for(view)
    if page is None and len({contender.language for contender in view.contenders}) < 2:
        return None
    tables = _SHAPES.get(page or "", _languages)
    title = f"In the layout of {page}" if page else "By language"
    return Shape(title, tables(view, _ordered(analysis)))


def stood_for(view: RunView) -> str | None:
    """The comparison from which most contenders have a row's name."""
    rows = Counter(
        row.comparison
        for contender in view.contenders
        for row in contender.published
        if row.row == contender.label and row.setting == contender.setting
    )
    return rows.most_common(1)[0][0] if rows else None


def _ordered(analysis: Analysis) -> LevelAnalysis:
    at = [level for level in analysis.levels if level.connections == ORDERED_AT]
    return at[0] if at else analysis.main


def _cores(view: RunView, level: LevelAnalysis) -> dict[str, Sequence[Column]]:
    return {
        head: [*_names("server", group, level), *_rates(view, group)]
        for head, group in by_cores(level.standings).items()
    }


def _languages(view: RunView, level: LevelAnalysis) -> dict[str, Sequence[Column]]:
    groups = by_language(level.standings)
    rows = [standing for group in groups.values() for standing in group]
    languages = [language for language, group in groups.items() for _ in group]
    head = column(languages, "language", one_line, False)
    return {"": [head, *_names("framework", rows, level, framework), *_rates(view, rows)]}


def _times(view: RunView, level: LevelAnalysis) -> dict[str, Sequence[Column]]:
    rows = level.standings
    times = [
        column(rows, f"mean ms\nat {connections:,}", partial(_mean, connections=connections))
        for connections in view.levels
    ]
    pairs = zip(_rates(view, rows), times, strict=True)
    return {"": [*_names("server", rows, level), *(each for pair in pairs for each in pair)]}


_SHAPES: Mapping[str, Callable[[RunView, LevelAnalysis], dict[str, Sequence[Column]]]] = {
    "woo-2016": _cores,
    "kzmake-2018": _languages,
    "landshark-2009": _times,
}


def _names(
    header: str,
    rows: Sequence[Standing],
    level: LevelAnalysis,
    name: Callable[[Standing], str] = lambda standing: standing.name,
) -> list[Column]:
    """The rows' names, and their ranks if the level has any."""
    names = [column(rows, header, lambda standing: one_line(name(standing)), False)]
    return [*names, column(rows, "rank", rank, False)] if level.ranked else names


def _rates(view: RunView, rows: Sequence[Standing]) -> list[Column]:
    return [
        column(rows, f"req/s\nat {connections:,}", partial(rate, view, connections=connections))
        for connections in view.levels
    ]


def _mean(standing: Standing, connections: int) -> str:
    cell = standing.contender.cells.get(connections)
    return numbers.milliseconds(cell.service.mean_us if cell else None)
