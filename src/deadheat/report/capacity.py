"""The highest rate that holds an objective, and what it costs: per CPU and per 100 MiB."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from deadheat.report import words
from deadheat.report.statement import Statement
from deadheat.report.tables import NAME_MAX, Column
from deadheat.report.view import RunView

MEMORY_UNIT_BYTES = 100 * words.MIB


@dataclass(frozen=True, slots=True)
class Found:
    """What the search for one contender came to; `rate_per_s` is 0 where no rate held.

    `cpus` is what the server was given; memory is its peak over all trials of the search, and
    CPU time a request that of the trials at the rate that held.
    """

    name: str
    rate_per_s: float
    above_per_s: float | None
    trials: int
    trouble: str | None
    cpus: int
    memory_peak_bytes: int | None
    server_cpu_us_per_request: float | None

    @property
    def rate_per_s_per_cpu(self) -> float | None:
        return self.rate_per_s / self.cpus if self.cpus and self.rate_per_s else None

    @property
    def rate_per_s_per_100_mib(self) -> float | None:
        peak_bytes = self.memory_peak_bytes
        if not peak_bytes or not self.rate_per_s:
            return None
        return self.rate_per_s * MEMORY_UNIT_BYTES / peak_bytes


def capacities(view: RunView) -> tuple[Found, ...]:
    """In the order in which they were searched; none where the run searched none."""
    cpus = view.server_cpus
    contenders = {one.name: one for one in view.rivals}
    return tuple(
        Found(
            name=found["name"],
            rate_per_s=found["rate_per_s"],
            above_per_s=found["above_per_s"],
            trials=found["trials"],
            trouble=found["trouble"],
            cpus=cpus,
            memory_peak_bytes=contenders[found["name"]].memory_peak_bytes,
            server_cpu_us_per_request=next(
                (
                    cell.server_cpu_us_per_request
                    for cell in contenders[found["name"]].offered
                    if math.isclose(cell.offered_rate_per_s, found["rate_per_s"])
                ),
                None,
            ),
        )
        for found in view.conclusion.get("capacities", ())
    )


def objective(view: RunView) -> str:
    """`p99=10ms`, as it was asked for."""
    return str(view.conclusion.get("slo", "the objective"))


def capacity_columns(view: RunView) -> list[Column]:
    """A row for each contender that was searched; none where none was."""
    rows = capacities(view)
    if not rows:
        return []
    return [
        Column("server", tuple(words.plain(row.name, NAME_MAX) for row in rows), right=False),
        Column("held\nreq/s", tuple(words.rate(row.rate_per_s or None) for row in rows)),
        Column("not held\nreq/s", tuple(words.rate(row.above_per_s) for row in rows)),
        Column("per CPU\nreq/s", tuple(words.rate(row.rate_per_s_per_cpu) for row in rows)),
        Column("per 100 MiB\nreq/s", tuple(words.rate(row.rate_per_s_per_100_mib) for row in rows)),
        Column(
            "CPU\nµs/req", tuple(words.microseconds(row.server_cpu_us_per_request) for row in rows)
        ),
        Column("peak\nMiB", tuple(words.mebibytes(row.memory_peak_bytes) for row in rows)),
        Column("trials", tuple(f"{row.trials:,}" for row in rows)),
    ]


def capacity_statements(view: RunView) -> Iterator[Statement]:
    for row in capacities(view):
        yield Statement("capacity", f"{row.name}: {_told(row, objective(view))}")


def _told(row: Found, slo: str) -> str:
    if row.trials == 0:
        return f"not measured: {row.trouble}"
    trouble = f"; {row.trouble}" if row.trouble else ""
    if row.rate_per_s == 0:
        tried = row.above_per_s
        least = "" if tried is None else f", not even {words.rate(tried)} requests/s"
        return f"no rate that was tried held {slo}{least}{trouble}"
    above = "" if row.above_per_s is None else f"; {words.rate(row.above_per_s)} did not"
    return f"{words.rate(row.rate_per_s)} requests/s held {slo}{above}{trouble}"
