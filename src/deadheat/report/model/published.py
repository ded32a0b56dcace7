"""Figures of the published comparisons, to show beside a server's own."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deadheat.protocol.figures import Figures, read_figures
from deadheat.report.model.shape import SHAPE, Finite

PACKAGE = Path(__file__).resolve().parents[2]
PLACES = (PACKAGE.parents[2] / "published", PACKAGE / "shipped" / "published")


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """A published rate at one level, and its place among that level's rows."""

    __pydantic_config__ = SHAPE

    connections: int
    rate_per_s: Finite
    rank: int
    """1 is the fastest."""
    rows: int


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of a published comparison that the server stands for."""

    __pydantic_config__ = SHAPE

    comparison: str
    row: str
    setting: str
    """The server's setting that repeats the row most closely."""
    differs: tuple[str, ...]
    """What differs from the published server."""
    rates: tuple[PublishedRate, ...]


def published_rows(manifest: Mapping[str, Any]) -> tuple[PublishedRow, ...]:
    """The rows of a stored manifest whose figures are available here."""
    rows = (
        PublishedRow(
            comparison=claim["protocol"],
            row=claim["row"],
            setting=claim.get("setting") or "default",
            differs=tuple(claim.get("differs", ())),
            rates=_rates(claim["protocol"], claim["row"]),
        )
        for claim in manifest.get("published", ())
    )
    return tuple(row for row in rows if row.rates)


@functools.cache
def _rates(comparison: str, row: str) -> tuple[PublishedRate, ...]:
    figures = _figures(comparison)
    if figures is None:
        return ()
    published = []
    for connections in figures.levels:
        rates = {
            figure.row: figure.rate_per_s
            for figure in figures.at(connections).values()
            if figure.rate_per_s is not None
        }
        if row in rates:
            rank = 1 + sum(rate > rates[row] for rate in rates.values())
            published.append(PublishedRate(connections, rates[row], rank, len(rates)))
    return tuple(published)


@functools.cache
def _figures(comparison: str) -> Figures | None:
    """None if the table is not available here."""
    paths = [place / f"{comparison}.csv" for place in PLACES]
    return next((read_figures(path) for path in paths if path.is_file()), None)
