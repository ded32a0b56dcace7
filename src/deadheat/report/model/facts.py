"""The trials of one run as views: their gates, errors, histograms and series, and who outran the
client over all of them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from deadheat.campaign.past import COMMON_RATE
from deadheat.errors import StoreError
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.gates.pooled import ClientUse, client_gates, invalidating, spins
from deadheat.report.model.kept import Kept, digest
from deadheat.report.model.series import (
    Distribution,
    Series,
    Usage,
    merged,
    of_latency,
    of_summaries,
    series,
)
from deadheat.report.model.view import Cell, ContenderView, RunView, TrialView, cpus_used_of
from deadheat.store import Gate, StoredRun
from deadheat.store.json_columns import TrialResult
from deadheat.store.rows import StoredTrial

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
P99_BEYOND = 5  # requests of a trial above its p99, which is compared and not printed
DATABASE_CPU, PER_REQUEST = "database_cpu_us_per_request", '"per_request"'


class Facts:
    """Reads each row once. `whole` adds the time to first byte and the series.

    Merged histograms are looked up in `kept`, and added to it. Only `series_trials_max` trials of a
    contender at a level have their series and slices. None: all of them.
    """

    def __init__(
        self, run: StoredRun, whole: bool, series_trials_max: int | None, kept: Kept
    ) -> None:
        self.run = run
        self.whole = whole
        self.series_trials_max = series_trials_max
        self._kept = kept
        self._slices = run.slices
        with_series = {trial.id: trial for trial in _spread(run.trials, series_trials_max)}
        self._with_series = frozenset(with_series)
        # A short response has the same histogram of its first and of its last byte.
        self._merged: tuple[Sequence[str], Distribution] | None = None
        self._series: dict[int, Series] = {}
        if whole:
            for trial_id, rows in run.series("load", "machine", trial_ids=with_series):
                self._series[trial_id] = series(
                    rows.get("load", ()), rows.get("machine", ()), _overall(with_series[trial_id])
                )

    def trial(self, trial: StoredTrial) -> TrialView:
        sliced = trial.id in self._slices
        result = _result_of(trial, needed=sliced or trial.kind == COMMON_RATE)
        return TrialView(
            invocation=trial.invocation,
            block=trial.block,
            heat=trial.heat,
            state=trial.state,
            reason=trial.reason,
            rate_per_s=trial.rate_per_s,
            requests_ok=trial.requests_ok or 0,
            server_cpu_us_per_request=trial.server_cpu_us_per_request,
            memory_peak_bytes=trial.memory_peak_bytes,
            errors=self.run.errors.get(trial.id, {}),
            gates_failed=tuple(
                invalidating(
                    self.run.gates_failed.get(trial.id, ()), trial.offered_rate_per_s is not None
                )
            ),
            at_s=trial.at_s,
            command=trial.command,
            series=self._series.get(trial.id),
            with_series=trial.id in self._with_series,
            instance_id=trial.instance_id,
            elapsed_s=trial.elapsed_s,
            client_busy_share=(
                result.busiest_thread_share  # a trial of slices has no gate for it
                if sliced
                else self.run.client_busy_shares.get(trial.id)
            ),
            too_short_to_gather_share=result.too_short_to_gather_share if sliced else None,
            slices=self._slices.get(trial.id, ()),
            database_cpu_us_per_request=result.database_cpu_us_per_request,
            per_request=result.per_request,
            response_us_p99=self._compared_p99_us(trial),
            reached_per_s=result.reached_per_s,
        )

    def _compared_p99_us(self, trial: StoredTrial) -> float | None:
        """Of response times at a common rate, of fewer requests than a printed one needs."""
        if trial.kind != COMMON_RATE:
            return None
        texts = self.run.histograms("response_us", [trial.id])
        return merged(texts).quantile_us(0.99, P99_BEYOND)

    def distribution(self, trials: Sequence[StoredTrial], name: str) -> Distribution:
        """The merged histogram of that name; if there is none, what the generator printed."""
        if name == "first_byte_us" and not self.whole:
            return Distribution()
        texts = self.run.histograms(name, [trial.id for trial in trials])
        if texts:
            try:
                return self._of(texts)
            except StoreError as error:
                ids = f"trials {trials[0].id} to {trials[-1].id}"
                raise StoreError(f"run {self.run.id}: {name} of {ids}: {error}") from error
        if name != "service_us":
            return Distribution()
        printed = [trial.result.service_us for trial in trials]
        requests = sum(trial.requests_ok or 0 for trial in trials)
        return of_summaries([summary for summary in printed if summary], requests)

    def p99s_by_start(self, trials: Sequence[StoredTrial]) -> tuple[float, ...]:
        """The p99 of the service times of each start that had enough requests."""
        by_start = grouped(trials, lambda trial: trial.invocation)
        p99s = [self.distribution(group, "service_us")["p99"] for group in by_start.values()]
        return tuple(p99_us for p99_us in p99s if p99_us is not None)

    def _of(self, texts: Sequence[str]) -> Distribution:
        """The merged histogram, which is kept."""
        if self._merged is None or self._merged[0] != texts:
            key = digest(["histogram", *texts]) if self._kept.keeps else ""
            stored = self._kept.get(key)
            latency = merged([stored] if stored is not None else texts)
            if stored is None and self._kept.keeps:
                self._kept.put(key, latency.encoded)
            self._merged = texts, of_latency(latency)
        return self._merged[1]


def _result_of(trial: StoredTrial, needed: bool) -> TrialResult:
    """The result, if something in it is shown: to read all of them takes long."""
    text = trial.result_json or ""
    shown = needed or DATABASE_CPU in text or PER_REQUEST in text
    return trial.result if shown else TrialResult()


def _overall(trial: StoredTrial) -> Usage | None:
    """None without a rate, or if the host did not report CPU time or memory."""
    cpus_used = cpus_used_of(trial.rate_per_s, trial.server_cpu_us_per_request)
    if trial.elapsed_s is None or cpus_used is None or trial.memory_peak_bytes is None:
        return None
    return trial.elapsed_s, round(cpus_used, 3), trial.memory_peak_bytes


def _spread(trials: Iterable[StoredTrial], most_per_level: int | None) -> Iterator[StoredTrial]:
    """Trials of each contender and level, evenly over the race, the first and the last included."""
    groups = grouped(trials, place_in_load)
    for group in groups.values():
        if most_per_level is None or len(group) <= most_per_level:
            yield from group
        else:
            step = (len(group) - 1) / (most_per_level - 1)
            yield from (group[round(step * place)] for place in range(most_per_level))


def place_in_load(trial: StoredTrial) -> tuple[int, str, str, int, float | None]:
    """The contender, and the load that it was under."""
    load = (trial.workload, trial.connections, trial.offered_rate_per_s)
    return trial.contender_id, trial.kind, *load


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> defaultdict[Key, list[Item]]:
    """The items of each key, in their order."""
    groups: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def with_client_limits(view: RunView) -> RunView:
    """The view with the failed `client_cpu` and `ceiling` of each contender, at each level."""
    return replace(
        view,
        later=tuple(map(with_client_limits, view.later)),
        client_gates={level: _limited_at(view, level) for level in view.levels},
    )


def _limited_at(view: RunView, connections: int) -> Mapping[str, tuple[Gate, ...]]:
    """The failed gates of each contender that has any."""
    ceilings_per_s = (
        control.cells[connections].rate_per_s("median")
        for control in view.controls
        if control.name == NULL_SERVER and connections in control.cells
    )
    ceiling_per_s = next(ceilings_per_s, None)
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
