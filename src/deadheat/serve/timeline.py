"""A server over time: its rate in every stored run, beside the reference that never changes."""

import datetime
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from deadheat.campaign.racer import REFERENCE
from deadheat.report import words
from deadheat.serve.markup import Html, link, table, text
from deadheat.serve.markup import page as html_page
from deadheat.store import Store, StoreError

HEADER = ("run", "started", "version", "connections", "req/s", "slowest – fastest", "valid trials",
          "of the reference")  # fmt: skip
RATES = """
    SELECT run.id, run.started_at, contender.version, trial.connections, trial.rate_per_s
    FROM contender JOIN run ON run.id = contender.run_id
    JOIN trial ON trial.run_id = run.id AND trial.contender_id = contender.id
    WHERE contender.name = ? AND trial.kind = 'measure' AND trial.state = 'ok'
          AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.trial_id = trial.id AND NOT gate.passed)
    ORDER BY run.started_at, run.id, trial.connections
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 900, 260, 80, 24, 12


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
            words.moment(one.started_at),
            words.plain(one.version or words.NONE, 40),
            f"{one.connections:,}",
            words.rate(one.median_per_s),
            f"{words.rate(one.slowest_per_s)} – {words.rate(one.fastest_per_s)}",
            f"{one.trials:,}",
            words.NONE if one.of_reference is None else words.percent(one.of_reference),
        )
        for one in reversed(found)
    ]
    drawn = [_drawn(found, connections) for connections in _levels(found)]
    return html_page(
        words.plain(name, 80), *drawn, table("Every run, the newest first", HEADER, rows)
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
    """Medians with slowest and fastest, from 0, evenly spaced in the order of the runs."""
    shown = [one for one in found if one.connections == connections]
    highest = max(one.fastest_per_s for one in shown)
    step = (WIDTH - LEFT - 20) / max(len(shown) - 1, 1)

    def y(rate_per_s: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - rate_per_s / highest)

    marks = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(one.slowest_per_s):.1f}" '
        f'y2="{y(one.fastest_per_s):.1f}" stroke="currentColor" opacity="0.4"/>'
        f'<circle cx="{x:.1f}" cy="{y(one.median_per_s):.1f}" r="4" fill="currentColor">'
        f"<title>{text(one.run_id)}: {words.rate(one.median_per_s)} req/s</title></circle>"
        for index, one in enumerate(shown)
        for x in (LEFT + 10 + index * step,)
    )
    ticks = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(at):.1f}" y2="{y(at):.1f}" stroke="currentColor" '
        f'opacity="0.15"/><text x="{LEFT - 8}" y="{y(at) + 4:.1f}" text-anchor="end" '
        f'font-size="12" fill="currentColor">{words.rate(at)}</text>'
        for at in (0.0, highest / 2, highest)
    )
    label = f"req/s at {words.count(connections, 'connection')}, run by run"
    return Html(
        f"<figure><figcaption>{text(label)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(label)}">'
        f"{ticks}{marks}</svg></figure>"
    )
