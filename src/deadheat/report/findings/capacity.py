"""The highest rate that holds an objective, and what it costs: per CPU and per 100 MiB."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from deadheat import numbers
from deadheat.campaign.capacity import SERVER_GATES
from deadheat.report.findings.analysis import Statement
from deadheat.report.model.view import ContenderView, OfferedCell, RunView, TrialView
from deadheat.store import Capacity

MEMORY_UNIT_BYTES = 100 * numbers.MIB


@dataclass(frozen=True, slots=True)
class CapacityResult:
    """The result of the search for one contender, and what the rate costs.

    `cpus` is the number of CPUs that the server was given. Memory is the peak over all trials of
    the search; CPU time per request is from the trials at the rate that held.
    """

    capacity: Capacity
    cpus: int
    memory_peak_bytes: int | None
    server_cpu_us_per_request: float | None
    disturbed: bool  # every trial at `above_per_s` was, so the server may hold more

    @property
    def rate_per_s_per_cpu(self) -> float | None:
        rate_per_s = self.capacity.rate_per_s
        return rate_per_s / self.cpus if self.cpus and rate_per_s else None

    @property
    def rate_per_s_per_100_mib(self) -> float | None:
        peak_bytes, rate_per_s = self.memory_peak_bytes, self.capacity.rate_per_s
        return rate_per_s * MEMORY_UNIT_BYTES / peak_bytes if peak_bytes and rate_per_s else None


def capacities(view: RunView) -> tuple[CapacityResult, ...]:
    """In the order of the searches; empty if the run has none."""
    contenders = {contender.name: contender for contender in view.contenders}
    return tuple(
        _result(contenders[capacity.name], capacity, view.server_cpus)
        for capacity in view.conclusion.capacities
    )


def _result(contender: ContenderView, capacity: Capacity, cpus: int) -> CapacityResult:
    held = _cell_at(contender, capacity.rate_per_s)
    above = _cell_at(contender, capacity.above_per_s)
    return CapacityResult(
        capacity=capacity,
        cpus=cpus,
        memory_peak_bytes=contender.memory_peak_bytes,
        server_cpu_us_per_request=held.server_cpu_us_per_request if held else None,
        disturbed=above is not None and all(map(_disturbed, above.trials)),
    )


def _cell_at(contender: ContenderView, rate_per_s: float | None) -> OfferedCell | None:
    if not rate_per_s:
        return None
    cells = (c for c in contender.offered if math.isclose(c.offered_rate_per_s, rate_per_s))
    return next(cells, None)


def _disturbed(trial: TrialView) -> bool:
    """Whether a gate failed that does not judge the server."""
    return any(gate.code not in SERVER_GATES for gate in trial.gates_failed)


def objective(view: RunView) -> str:
    """The objective as the user wrote it, such as `p99=10ms`."""
    return view.conclusion.slo or "the objective"


def capacity_statements(view: RunView) -> Iterator[Statement]:
    for result in capacities(view):
        text = capacity_text(result.capacity, objective(view), result.disturbed)
        yield Statement("capacity", f"{result.capacity.name}: {text}")


def capacity_text(capacity: Capacity, slo: str, disturbed: bool = False) -> str:
    """`8,951 requests/s held p99=10ms; 9,065 did not`.

    `disturbed` says that the machine disturbed every trial at the rate that did not hold.
    """
    if capacity.trials == 0:
        return f"not measured: {capacity.trouble}"
    trouble = f"; {capacity.trouble}" if capacity.trouble else ""
    above_per_s = capacity.above_per_s
    if capacity.rate_per_s == 0:
        lowest = "" if above_per_s is None else f", not even {numbers.rate(above_per_s)} requests/s"
        return f"no rate held {slo}{lowest}{trouble}"
    above = "" if above_per_s is None else f"; {numbers.rate(above_per_s)} did not"
    more = ", but the machine disturbed those trials: the server may hold more" if disturbed else ""
    return f"{numbers.rate(capacity.rate_per_s)} requests/s held {slo}{above}{more}{trouble}"
