"""Made boards: entries with known rates, the board's noise, and one fault each."""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deadheat.boards.model import LiveBoard, Measurement, in_order

ENTRIES, CONNECTIONS, DURATION_S, CPUS = 60, 256, 10.0, 64
NOISE = 0.02  # standard deviation of the log of one measurement
Change = Callable[[Measurement], Measurement]


@dataclass(frozen=True)
class Made:
    """`rates` are the true ones; editions are measured with noise, on the first days of 2026."""

    rates: Sequence[float]
    editions: int = 2
    noise: float = NOISE
    heavy: bool = False
    profile: str = "256 connections"
    name: str = "made"
    seed: int = 1

    def board(self, change: Change = lambda row: row) -> LiveBoard:
        rows = [change(row) for row in self.rows()]
        editions = in_order(row.edition for row in rows)
        return LiveBoard(self.name, (f"{self.name}.csv",), editions, tuple(rows), CPUS)

    def rows(self) -> list[Measurement]:
        generator = np.random.default_rng(self.seed)
        shape = (self.editions, len(self.rates))
        errors = generator.standard_t(2, shape) if self.heavy else generator.standard_normal(shape)
        factors = np.exp(self.noise * errors)
        return [
            measurement(f"entry-{place:02}", float(rate * factors[day, place]), day, self.profile)
            for day in range(self.editions)
            for place, rate in enumerate(self.rates)
        ]


def spread_rates(entries: int = ENTRIES, ratio: float = 30.0, seed: int = 7) -> list[float]:
    """Rates from 10,000 to `ratio` times that, at random."""
    drawn = np.random.default_rng(seed).uniform(0, math.log(ratio), entries)
    return [10_000 * math.exp(value) for value in sorted(drawn, reverse=True)]


def measurement(entry: str, rate_per_s: float, day: int, profile: str) -> Measurement:
    """A row without any fault."""
    mean_s = CONNECTIONS / rate_per_s
    return Measurement(
        profile=profile,
        family=profile.rsplit("-", 1)[0],
        entry=entry,
        edition=f"2026-01-{day + 1:02}",
        rate_per_s=rate_per_s,
        connections=CONNECTIONS,
        mean_s=mean_s,
        p50_s=0.9 * mean_s,
        p90_s=1.5 * mean_s,
        p99_s=3 * mean_s,
        duration_s=DURATION_S,
        cpus_used=60.0,
        ok=round(rate_per_s * DURATION_S),
        failed=0,
        source=f"source-of-{entry}",
    )


def only(entries: Sequence[str], **changes: object) -> Change:
    """Changes some entries; a value may be a function of the row."""

    def change(row: Measurement) -> Measurement:
        if row.entry not in entries:
            return row
        values = {name: new(row) if callable(new) else new for name, new in changes.items()}
        return replace(row, **values)  # type: ignore[arg-type]

    return change


def as_csv(board: LiveBoard) -> str:
    """The board in the columns of the CSV adapter."""
    text = io.StringIO()
    names = ("entry", "profile", "edition", "rate_per_s", "connections", "latency_mean", "source")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in board.measurements:
        latency = f"{1000 * (row.mean_s or 0):.6f}ms"
        writer.writerow(
            (
                *(row.entry, row.profile, row.edition, row.rate_per_s, row.connections),
                *(latency, row.source),
            )
        )
    return text.getvalue()


def written(folder: Path, board: LiveBoard) -> Path:
    path = folder / f"{board.name}.csv"
    path.write_text(as_csv(board))
    return path
