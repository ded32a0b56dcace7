"""A run's rates in the shape of the page whose rows its contenders stand for.

woo-2016 tells one core from several, kzmake-2018 has a table of languages and frameworks,
landshark-2009 a row for each server with its rate and its mean time. A run that stands for none
of them is told by language, if it has several. The ranking is another table, and stays.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level, Standing
from deadheat.report.findings.grouping import by_cores, by_language, framework
from deadheat.report.formats.tables import rank, rate
from deadheat.report.model.column import Column
from deadheat.report.model.view import RunView

ORDERED_AT = 100  # connections: where each of the pages has its order


@dataclass(frozen=True, slots=True)
class Shape:
    """Tables by their headings; a single one has an empty heading."""

    title: str
    tables: Mapping[str, Sequence[Column]]


def shape(view: RunView, analysis: Analysis) -> Shape | None:
    """None where nothing was compared, or where no page and no language tells rows apart."""
    if not view.races or not analysis.levels or not view.contenders:
        return None
    page = stood_for(view)
    if page is None and len({one.language for one in view.contenders}) < 2:
        return None
    tables = _SHAPES.get(page or "", _languages)
    title = f"In the shape of {page}" if page else "By language"
    return Shape(title, tables(view, _ordered(analysis)))


def stood_for(view: RunView) -> str | None:
    """The comparison of which most contenders carry a row's name."""
    rows = Counter(
        row.comparison
        for one in view.contenders
        for row in one.published
        if row.row == one.label and row.setting == one.setting
    )
    return rows.most_common(1)[0][0] if rows else None


def _ordered(analysis: Analysis) -> Level:
    at = [level for level in analysis.levels if level.connections == ORDERED_AT]
    return at[0] if at else analysis.main


def _cores(view: RunView, level: Level) -> dict[str, Sequence[Column]]:
    return {
        head: [*_names("server", group, level), *_rates(view, group)]
        for head, group in by_cores(level.standings).items()
    }


def _languages(view: RunView, level: Level) -> dict[str, Sequence[Column]]:
    groups = by_language(level.standings)
    rows = [one for group in groups.values() for one in group]
    languages = tuple(format.plain(language) for language, group in groups.items() for _ in group)
    head = [Column("language", languages, right=False)]
    return {"": [*head, *_names("framework", rows, level, framework), *_rates(view, rows)]}


def _times(view: RunView, level: Level) -> dict[str, Sequence[Column]]:
    rows = level.standings
    times = [
        Column(f"mean ms\nat {connections:,}", tuple(_mean(one, connections) for one in rows))
        for connections in view.levels
    ]
    columns = zip(_rates(view, rows), times, strict=True)
    names = _names("server", rows, level)
    return {"": [*names, *(column for pair in columns for column in pair)]}


_SHAPES: Mapping[str, Callable[[RunView, Level], dict[str, Sequence[Column]]]] = {
    "woo-2016": _cores,
    "kzmake-2018": _languages,
    "landshark-2009": _times,
}


def _names(
    header: str,
    rows: Sequence[Standing],
    level: Level,
    name: Callable[[Standing], str] = lambda one: one.name,
) -> list[Column]:
    """The rows' names, and their ranks where the level has any."""
    names = [Column(header, tuple(format.plain(name(one)) for one in rows), right=False)]
    if level.ranked:
        names.append(Column("rank", tuple(map(rank, rows)), right=False))
    return names


def _rates(view: RunView, rows: Sequence[Standing]) -> list[Column]:
    return [
        Column(f"req/s\nat {connections:,}", tuple(rate(view, one, connections) for one in rows))
        for connections in view.levels
    ]


def _mean(one: Standing, connections: int) -> str:
    cell = one.contender.cells.get(connections)
    return format.milliseconds(cell.service.mean_us if cell else None)
