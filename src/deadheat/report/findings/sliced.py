"""A race in slices at one level: the model of all slices, and who outran the client."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deadheat.campaign.slice_standings import slice_rows
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.gates.pooled import ClientUse, client_gates, limits_client
from deadheat.report.model.view import Cell, ContenderView, RunView
from deadheat.stats.counted_slices import Counted, count_slices, slices_of
from deadheat.stats.model_ranking import rank_from_model
from deadheat.stats.ranking import Ranking
from deadheat.stats.slice_model import ModelFit, fit_slices
from deadheat.store import Gate

SPIN_FACTOR = 1.5  # CPU time per request at half the load over that at full load
MARGIN = 0.03
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class SlicedLevel:
    """One level of a race in slices.

    `names` are the contenders and controls with a slice that counts, in the order of the model.
    `client_gates` holds the failed `client_cpu` and `ceiling` of each contender that outran the
    client; these are not ranked by their rates.
    """

    names: tuple[str, ...]
    fit: ModelFit
    counted: Counted
    client_gates: Mapping[str, tuple[Gate, ...]]

    def rate_per_s(self, name: str) -> float | None:
        """The model's rate: all ratios between contenders follow from these."""
        if name not in self.names:
            return None
        rate = math.exp(float(self.fit.robust.log_rate[self.names.index(name)]))
        return rate if math.isfinite(rate) else None

    def plain_rate_per_s(self, name: str) -> float | None:
        """The rate without robust weights, where the two differ by more than their error."""
        if name not in self.names:
            return None
        place = self.names.index(name)
        if not self.fit.estimates_differ[place]:
            return None
        return math.exp(float(self.fit.plain.log_rate[place]))

    def ranking(self, view: RunView, with_limited: bool = False) -> Ranking:
        """The contenders' ranking; those that outran the client only on request."""
        aside = {control.name for control in view.controls}
        if not with_limited:
            aside |= set(self.client_gates)
        return rank_from_model(
            self.fit,
            self.names,
            margin=view.stopping.get("margin", MARGIN),
            confidence=view.stopping.get("confidence", CONFIDENCE),
            share=view.conclusion.get("share", 1.0),
            controls=[name for name in self.names if name in aside],
        )


def sliced_level(view: RunView, connections: int) -> SlicedLevel | None:
    """The model of one level; None where no slice counts."""
    everyone = (*view.contenders, *view.controls)
    cells = {c.name: c.cells[connections] for c in everyone if connections in c.cells}
    rows = [
        row
        for name, cell in cells.items()
        for trial in cell.valid
        for row in slice_rows(name, trial.instance_id or 0, trial.block, trial.slices)
    ]
    counted = count_slices(rows)
    present = {row.contender for row in counted.rows}
    names = tuple(c.name for c in everyone if c.name in present)
    if not names:
        return None
    fit = fit_slices(slices_of(counted.rows, names))
    level = SlicedLevel(names, fit, counted, {})
    ceiling_per_s = level.rate_per_s(NULL_SERVER)
    limited = {
        contender.name: gates
        for contender in view.contenders
        if contender.name in cells
        if (gates := _client_gates(view, contender, cells[contender.name], ceiling_per_s))
    }
    return SlicedLevel(names, fit, counted, limited)


def _client_gates(
    view: RunView, contender: ContenderView, cell: Cell, ceiling_per_s: float | None
) -> tuple[Gate, ...]:
    """The failed ones."""
    gates = client_gates(client_use(view, contender, cell, ceiling_per_s))
    return tuple(gate for gate in gates if not gate.passed) if limits_client(gates) else ()


def client_use(
    view: RunView, contender: ContenderView, cell: Cell, ceiling_per_s: float | None
) -> ClientUse:
    """One contender's sums over its valid trials at one level."""
    trials = [trial for trial in cell.valid if trial.elapsed_s]
    elapsed_s = math.fsum(trial.elapsed_s or 0.0 for trial in trials)
    known = [t for t in trials if t.server_cpu_us_per_request is not None]
    server_cpu_s = (
        math.fsum((t.server_cpu_us_per_request or 0.0) * t.requests_ok for t in known) / 1e6
        if len(known) == len(trials) and trials
        else None
    )
    return ClientUse(
        elapsed_s=elapsed_s,
        requests=sum(trial.requests_ok for trial in trials),
        client_busy_s=math.fsum(
            (t.client_busy_share or 0.0) * (t.elapsed_s or 0.0) for t in trials
        ),
        server_cpu_s=server_cpu_s,
        server_cpus=_usable_cpus(view, contender, server_cpu_s, elapsed_s),
        ceiling_per_s=ceiling_per_s,
        spins=spins(contender, cell),
    )


def spins(contender: ContenderView, cell: Cell) -> bool:
    """Whether it uses CPU time while it waits: more per request at half the load."""
    full_us, half_us = cell.server_cpu_us_per_request, contender.half_load_cpu_us_per_request
    return bool(full_us and half_us and half_us > SPIN_FACTOR * full_us)


def _usable_cpus(
    view: RunView, contender: ContenderView, server_cpu_s: float | None, elapsed_s: float
) -> int:
    """The server's CPUs, or its workers where it keeps to fewer."""
    cpus = max(view.server_cpus, 1)
    used = (server_cpu_s or 0.0) / elapsed_s if elapsed_s else 0.0
    return contender.workers if contender.workers < cpus and used <= contender.workers else cpus


def measured_share(view: RunView, levels: Sequence[int]) -> float | None:
    """The share of the race's time in which a contender or control was measured."""
    trials = [
        trial
        for contender in (*view.contenders, *view.controls)
        for level in levels
        if level in contender.cells
        for trial in contender.cells[level].trials
    ]
    measured_s = math.fsum(trial.elapsed_s or 0.0 for trial in trials)
    ends_s = [trial.at_s + (trial.elapsed_s or 0.0) for trial in trials]
    return measured_s / max(ends_s) if ends_s and max(ends_s) > 0 else None
