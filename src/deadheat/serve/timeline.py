"""A server over time: its rate in every stored run, next to that of the reference."""

import datetime
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.measure.contender import REFERENCE
from deadheat.report import wording
from deadheat.serve.chart import Mark, chart
from deadheat.serve.markup import Html, Number, link, table
from deadheat.serve.markup import page as html_page
from deadheat.store import Store, StoreError
from deadheat.store.listing import ValidRate, valid_rates
from deadheat.workload import HELLO

RunLevel = tuple[str, str, int]  # run, workload, connections
HEADER = (
    "run",
    "started",
    "version",
    *map(Number, ("connections", "req/s", "slowest – fastest", "valid trials", "of the reference")),
)


@dataclass(frozen=True, slots=True)
class Point:
    """One run's valid rates at one level, in requests/s."""

    run_id: str
    started_at: datetime.datetime
    version: str | None
    connections: int
    workload: str
    median_per_s: float
    slowest_per_s: float
    fastest_per_s: float
    trials: int
    of_reference: float | None
    imported: bool = False


def page(store: Store, name: str) -> str:
    """The page of one contender. Raises `StoreError` if no run has a valid trial of it."""
    timeline = points(store, name)
    if not timeline:
        raise StoreError(f"no stored run has a valid trial of {name!r}")
    rows = [
        (
            _run(point),
            numbers.moment(point.started_at),
            one_line(point.version or numbers.NONE, 40),
            Number(wording.load(point.workload, point.connections)),
            Number(numbers.rate(point.median_per_s)),
            Number(f"{numbers.rate(point.slowest_per_s)} – {numbers.rate(point.fastest_per_s)}"),
            Number(f"{point.trials:,}"),
            Number(
                numbers.NONE if point.of_reference is None else numbers.percent(point.of_reference)
            ),
        )
        for point in reversed(timeline)
    ]
    charts = [_chart(timeline, *level) for level in _levels(timeline)]
    return html_page(
        one_line(name, 80), *charts, table("Every run, the newest first", HEADER, rows)
    )


def _run(point: Point) -> Html:
    """The run's link, and whether it was measured elsewhere."""
    run = link(f"/runs/{point.run_id}", point.run_id)
    return Html(f"{run}, imported") if point.imported else run


def points(store: Store, name: str) -> list[Point]:
    """One point for each run and level, in the order of time."""
    reference = {
        key: statistics.median(trial.rate_per_s for trial in trials)
        for key, trials in _by_run_and_level(store, REFERENCE)
    }
    return [_point(trials, reference.get(key)) for key, trials in _by_run_and_level(store, name)]


def _by_run_and_level(store: Store, name: str) -> Iterator[tuple[RunLevel, list[ValidRate]]]:
    rates = valid_rates(store, name)
    for key, trials in groupby(rates, key=_run_and_level):
        yield key, list(trials)


def _run_and_level(trial: ValidRate) -> RunLevel:
    return trial.run_id, trial.workload, trial.connections


def _point(trials: Sequence[ValidRate], reference_per_s: float | None) -> Point:
    first, rates = trials[0], [trial.rate_per_s for trial in trials]
    median_per_s = statistics.median(rates)
    return Point(
        run_id=first.run_id,
        started_at=first.started_at,
        version=first.version,
        connections=first.connections,
        workload=first.workload,
        median_per_s=median_per_s,
        slowest_per_s=min(rates),
        fastest_per_s=max(rates),
        trials=len(rates),
        of_reference=median_per_s / reference_per_s if reference_per_s else None,
        imported=first.imported,
    )


def _levels(timeline: Sequence[Point]) -> list[tuple[str, int]]:
    """Each workload and number of connections, hello first."""
    levels = {(point.workload, point.connections) for point in timeline}
    return sorted(levels, key=lambda level: (level[0] != HELLO, level))


def _chart(timeline: Sequence[Point], workload: str, connections: int) -> Html:
    level = (workload, connections)
    at_level = [point for point in timeline if (point.workload, point.connections) == level]
    days = {point.started_at.date() for point in at_level}
    date_format = "%H:%M" if len(days) == 1 else "%Y-%m-%d"
    marks = [
        Mark(
            run_id=f"{point.run_id}, imported" if point.imported else point.run_id,
            date=f"{point.started_at:{date_format}}",
            version=one_line(point.version or numbers.NONE, 14),
            median_per_s=point.median_per_s,
            slowest_per_s=point.slowest_per_s,
            fastest_per_s=point.fastest_per_s,
        )
        for point in at_level
    ]
    day = f", {days.pop()}" if len(days) == 1 else ""
    of = "" if workload == HELLO else f", workload {one_line(workload, 40)}"
    return chart(f"req/s at {numbers.count(connections, 'connection')}{of}, run by run{day}", marks)
