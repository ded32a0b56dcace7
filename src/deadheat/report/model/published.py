"""Figures of the published comparisons, beside which a server's own are put."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deadheat.protocol.figures import Figures, read_figures

PACKAGE = Path(__file__).resolve().parents[2]
PLACES = (PACKAGE.parents[2] / "published", PACKAGE / "shipped" / "published")


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """A row's rate at one level, and its place among that level's rows, the first being 1."""

    connections: int
    rate_per_s: float
    rank: int
    rows: int


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row that a server stands for; `differs` says in what it is not the same."""

    comparison: str
    row: str
    setting: str
    differs: tuple[str, ...]
    rates: tuple[PublishedRate, ...]


def published_rows(manifest: Mapping[str, Any]) -> tuple[PublishedRow, ...]:
    """The rows of a stored manifest whose figures are at hand."""
    rows = (
        PublishedRow(
            comparison=told["protocol"],
            row=told["row"],
            setting=told.get("setting") or "default",
            differs=tuple(told.get("differs", ())),
            rates=_rates(told["protocol"], told["row"]),
        )
        for told in manifest.get("published", ())
    )
    return tuple(row for row in rows if row.rates)


def _rates(comparison: str, row: str) -> tuple[PublishedRate, ...]:
    figures = _figures(comparison)
    if figures is None:
        return ()
    found = []
    for connections in figures.levels:
        rates = {
            one.row: one.rate_per_s
            for one in figures.at(connections).values()
            if one.rate_per_s is not None
        }
        if row in rates:
            rank = 1 + sum(rate > rates[row] for rate in rates.values())
            found.append(PublishedRate(connections, rates[row], rank, len(rates)))
    return tuple(found)


@functools.cache
def _figures(comparison: str) -> Figures | None:
    """None where the table is not at hand."""
    paths = [place / f"{comparison}.csv" for place in PLACES]
    return next((read_figures(path) for path in paths if path.is_file()), None)
