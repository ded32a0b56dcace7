"""The highest rate that holds an objective, and what it costs: per CPU and per 100 MiB."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.campaign.capacity import SERVER_GATES
from deadheat.report import format
from deadheat.report.model.column import NAME_MAX, Column
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import ContenderView, OfferedCell, RunView, TrialView

MEMORY_UNIT_BYTES = 100 * format.MIB


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
    disturbed: bool  # every trial above it was, so that the server may hold more

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
    contenders = {one.name: one for one in view.contenders}
    return tuple(
        _found(contenders[told["name"]], told, view.server_cpus)
        for told in view.conclusion.get("capacities", ())
    )


def _found(one: ContenderView, told: Mapping[str, Any], cpus: int) -> Found:
    held, above = _at(one, told["rate_per_s"]), _at(one, told["above_per_s"])
    return Found(
        name=one.name,
        rate_per_s=told["rate_per_s"],
        above_per_s=told["above_per_s"],
        trials=told["trials"],
        trouble=told["trouble"],
        cpus=cpus,
        memory_peak_bytes=one.memory_peak_bytes,
        server_cpu_us_per_request=held.server_cpu_us_per_request if held else None,
        disturbed=above is not None and all(map(_disturbed, above.trials)),
    )


def _at(one: ContenderView, rate_per_s: float | None) -> OfferedCell | None:
    cells = [
        c for c in one.offered if rate_per_s and math.isclose(c.offered_rate_per_s, rate_per_s)
    ]
    return cells[0] if cells else None


def _disturbed(trial: TrialView) -> bool:
    """A gate failed that does not judge the server."""
    return any(gate.code not in SERVER_GATES for gate in trial.gates_failed)


def objective(view: RunView) -> str:
    """`p99=10ms`, as it was asked for."""
    return str(view.conclusion.get("slo", "the objective"))


def capacity_columns(view: RunView) -> list[Column]:
    """A row for each contender that was searched; none where none was."""
    rows = capacities(view)
    if not rows:
        return []
    return [
        Column("server", tuple(format.plain(row.name, NAME_MAX) for row in rows), right=False),
        Column("held\nreq/s", tuple(format.rate(row.rate_per_s or None) for row in rows)),
        Column("not held\nreq/s", tuple(format.rate(row.above_per_s) for row in rows)),
        Column("per CPU\nreq/s", tuple(format.rate(row.rate_per_s_per_cpu) for row in rows)),
        Column(
            "per 100 MiB\nreq/s", tuple(format.rate(row.rate_per_s_per_100_mib) for row in rows)
        ),
        Column(
            "CPU\nµs/req", tuple(format.microseconds(row.server_cpu_us_per_request) for row in rows)
        ),
        Column("peak\nMiB", tuple(format.mebibytes(row.memory_peak_bytes) for row in rows)),
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
        least = "" if tried is None else f", not even {format.rate(tried)} requests/s"
        return f"no rate that was tried held {slo}{least}{trouble}"
    above = "" if row.above_per_s is None else f"; {format.rate(row.above_per_s)} did not"
    more = ", but the machine disturbed those trials: it may hold more" if row.disturbed else ""
    return f"{format.rate(row.rate_per_s)} requests/s held {slo}{above}{more}{trouble}"
