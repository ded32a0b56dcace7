"""Finds the contenders that outran the client, over all of their closed-loop trials."""

import math
from collections.abc import Mapping
from dataclasses import replace

from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.gates.pooled import ClientUse, client_gates, spins
from deadheat.report.model.view import Cell, ContenderView, RunView, TrialView
from deadheat.store import Gate


def with_client_limits(view: RunView) -> RunView:
    """The view with the failed `client_cpu` and `ceiling` of each contender, at each level."""
    return replace(
        view,
        later=tuple(map(with_client_limits, view.later)),
        client_gates={level: _limited_at(view, level) for level in view.levels},
    )


def _limited_at(view: RunView, connections: int) -> Mapping[str, tuple[Gate, ...]]:
    """The failed gates of each contender that has any."""
    ceilings_per_s = [
        control.cells[connections].rate_per_s("median")
        for control in view.controls
        if control.name == NULL_SERVER and connections in control.cells
    ]
    ceiling_per_s = ceilings_per_s[0] if ceilings_per_s else None
    failed = {
        contender.name: tuple(
            gate
            for gate in client_gates(client_use(view, contender, cell, ceiling_per_s))
            if not gate.passed
        )
        for contender in view.contenders
        if (cell := contender.cells.get(connections)) is not None
    }
    return {name: gates for name, gates in failed.items() if gates}


def client_use(
    view: RunView, contender: ContenderView, cell: Cell, ceiling_per_s: float | None
) -> ClientUse:
    """One contender's sums over its valid trials at one level."""
    trials = [trial for trial in cell.valid if trial.elapsed_s]
    elapsed_s = math.fsum(trial.elapsed_s or 0.0 for trial in trials)
    server_cpu_s = None
    if trials and all(trial.server_cpu_us_per_request is not None for trial in trials):
        server_cpu_s = math.fsum(_cpu_us_per_request(t) * t.requests_ok for t in trials) / 1e6
    client_busy_s = None
    if trials and all(trial.client_busy_share is not None for trial in trials):
        client_busy_s = math.fsum(
            (t.client_busy_share or 0.0) * (t.elapsed_s or 0.0) for t in trials
        )
    return ClientUse(
        elapsed_s=elapsed_s,
        requests=sum(trial.requests_ok for trial in trials),
        client_busy_s=client_busy_s,
        server_cpu_s=server_cpu_s,
        server_cpus=max(view.server_cpus, 1),
        workers=contender.workers,
        ceiling_per_s=ceiling_per_s,
        spins=spins(cell.server_cpu_us_per_request, contender.half_load_cpu_us_per_request),
    )


def _cpu_us_per_request(trial: TrialView) -> float:
    """Of the server and its database, which share its CPUs."""
    parts_us = (trial.server_cpu_us_per_request, trial.database_cpu_us_per_request)
    return math.fsum(part_us for part_us in parts_us if part_us is not None)
