"""A server over time: its rate in every stored run, beside the reference that never changes."""

import datetime
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from deadheat.measure.contender import REFERENCE
from deadheat.report import format
from deadheat.serve.chart import Mark, chart
from deadheat.serve.markup import Html, Number, link, table
from deadheat.serve.markup import page as html_page
from deadheat.store import Store, StoreError

HEADER = (
    "run",
    "started",
    "version",
    *map(Number, ("connections", "req/s", "slowest – fastest", "valid trials", "of the reference")),
)
# In this order: SQLite, left to choose, reads every trial of the store.
RATES = """
    SELECT run.id, run.started_at, contender.version, trial.connections, trial.rate_per_s
    FROM contender CROSS JOIN run ON run.id = contender.run_id
    CROSS JOIN trial ON trial.run_id = run.id AND trial.contender_id = contender.id
    WHERE contender.name = ? AND trial.kind = 'measure' AND trial.state = 'ok'
          AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.trial_id = trial.id AND NOT gate.passed)
    ORDER BY run.started_at, run.rowid, trial.connections
"""


@dataclass(frozen=True, slots=True)
class Point:
    """One run's valid rates at one level, in requests/s."""

    run_id: str
    started_at: datetime.datetime
    version: str | None
    connections: int
    median_per_s: float
    slowest_per_s: float
    fastest_per_s: float
    trials: int
    of_reference: float | None


def page(store: Store, name: str) -> str:
    """Raises `StoreError` where no run holds a valid trial of such a contender."""
    found = points(store, name)
    if not found:
        raise StoreError(f"no stored run holds a valid trial of {name!r}")
    rows = [
        (
            link(f"/runs/{one.run_id}", one.run_id),
            format.moment(one.started_at),
            format.plain(one.version or format.NONE, 40),
            Number(f"{one.connections:,}"),
            Number(format.rate(one.median_per_s)),
            Number(f"{format.rate(one.slowest_per_s)} – {format.rate(one.fastest_per_s)}"),
            Number(f"{one.trials:,}"),
            Number(format.NONE if one.of_reference is None else format.percent(one.of_reference)),
        )
        for one in reversed(found)
    ]
    drawn = [_drawn(found, connections) for connections in _levels(found)]
    return html_page(
        format.plain(name, 80), *drawn, table("Every run, the newest first", HEADER, rows)
    )


def points(store: Store, name: str) -> list[Point]:
    """In the order of time."""
    reference = {key: statistics.median(rates) for key, _, rates in _grouped(store, REFERENCE)}
    return [
        Point(
            run_id=run_id,
            started_at=datetime.datetime.fromisoformat(row["started_at"]),
            version=row["version"],
            connections=connections,
            median_per_s=(median := statistics.median(rates)),
            slowest_per_s=min(rates),
            fastest_per_s=max(rates),
            trials=len(rates),
            of_reference=median / at if (at := reference.get((run_id, connections))) else None,
        )
        for (run_id, connections), row, rates in _grouped(store, name)
    ]


def _grouped(
    store: Store, name: str
) -> Iterator[tuple[tuple[str, int], dict[str, Any], list[float]]]:
    rows = store.rows(RATES, name)
    for key, group in groupby(rows, key=lambda row: (row["id"], row["connections"])):
        found = list(group)
        yield key, found[0], [row["rate_per_s"] for row in found]


def _levels(found: Sequence[Point]) -> list[int]:
    return sorted({one.connections for one in found})


def _drawn(found: Sequence[Point], connections: int) -> Html:
    shown = [one for one in found if one.connections == connections]
    days = {one.started_at.date() for one in shown}
    marks = [
        Mark(
            run_id=one.run_id,
            date=f"{one.started_at:%H:%M}" if len(days) == 1 else f"{one.started_at:%Y-%m-%d}",
            version=format.plain(one.version or format.NONE, 14),
            median_per_s=one.median_per_s,
            slowest_per_s=one.slowest_per_s,
            fastest_per_s=one.fastest_per_s,
        )
        for one in shown
    ]
    day = f", {days.pop()}" if len(days) == 1 else ""
    return chart(f"req/s at {format.count(connections, 'connection')}, run by run{day}", marks)
