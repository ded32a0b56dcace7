"""Slices of one instance at one level, and the trial that they add up to in a block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.host import Completed, Usage
from deadheat.load import LoadResult
from deadheat.load.pooling import mean, pool
from deadheat.load.slices import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.database_time import begin_or_fault
from deadheat.measure.gates.client import client_waited
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import judge_slices, steady_gate
from deadheat.measure.lifecycle import Instance
from deadheat.measure.load_process import LoadProcess, load_slice
from deadheat.measure.trial import (
    TrialContext,
    cpu_us_per_request,
    database_figures,
    death,
    other_figures,
)
from deadheat.measure.world import World
from deadheat.store import Gate, TrialRecord

SERIES = "slices"  # the name of the series that keeps them


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: when it began, in which round, and what it measured or why it did not."""

    at_s: float
    round: int
    result: LoadResult | None
    fault: str | None = None
    database_cpu_s: float | None = None  # of the workload's database; None: there is none
    listen_drops: int | None = None  # of the listen queues, while it was the only one that ran

    def row(self) -> dict[str, Any]:
        """As it is stored with its trial."""
        row: dict[str, Any] = {"at_s": self.at_s, "round": self.round}
        if self.result is not None:
            row |= {
                "rate_per_s": self.result.rate_per_s,
                "requests_ok": self.result.requests_ok,
                "elapsed_s": self.result.elapsed_s,
                "window_s": self.result.sending_s,
            }
            if self.result.paused_s:
                row |= {
                    "paused_s": self.result.paused_s,
                    "longest_pause_us": self.result.longest_pause_us,
                }
            if self.database_cpu_s is not None:
                row["database_cpu_s"] = self.database_cpu_s
            if self.result.skew_us is not None:
                row["skew_us"] = self.result.skew_us
            if client_waited(self.result):
                row["client_waited"] = True
        return row


@dataclass(frozen=True, slots=True)
class BlockReadings:
    """What was read of one instance over a block, in which it ran during its slices only.

    `usage` is that before and after, `workers_gone` counts its worker processes that ended. `gates`
    are the machine's. `network` is the increase of each network counter of the machine; it is
    stored without a gate, because it includes the traffic of others.
    """

    usage: tuple[Usage | None, Usage | None]
    gates: Sequence[Gate]
    network: Mapping[str, int]
    workers_gone: int | None


def measure_slice(
    world: World,
    instance: Instance,
    load: LoadProcess,
    request: SliceRequest,
    at_s: float,
    round_number: int,
) -> Slice:
    """Thaw, load, freeze. A slice that went wrong says why; a dead server is not frozen."""
    database, fault = begin_or_fault(world, load.spec)
    if fault is not None:
        return Slice(at_s, round_number, None, fault)
    lifecycle.thaw(world, instance)
    try:
        result = load_slice(world, load, request)
    except DeadheatError as error:
        fault = f"{error} ({error.hint})" if error.hint else str(error)
        if (ended := lifecycle.ended(world, instance)) is not None:
            fault = death(world, instance, ended)
        else:
            lifecycle.freeze(world, instance)
        return Slice(at_s, round_number, None, fault)
    ended = None if result.requests_ok else lifecycle.ended(world, instance)
    if ended is not None:  # the load process reports refused connections, which are a result
        return Slice(at_s, round_number, None, death(world, instance, ended))
    lifecycle.freeze(world, instance)
    if (fault := database.fault()) is not None:
        return Slice(at_s, round_number, None, fault)
    return Slice(at_s, round_number, result, database_cpu_s=database.used_s())


def trial_of(
    world: World,
    instance: Instance,
    load: LoadProcess,
    context: TrialContext,
    slices: Sequence[Slice],
    block: BlockReadings,
) -> TrialRecord:
    """The slices of one contender in one block as one trial.

    One slice without a result makes the trial a failed one; its other slices are kept with it.
    """
    results = [part.result for part in slices if part.result is not None]
    fault = next((part.fault for part in slices if part.fault is not None), None)
    result = pool(results) if results else None
    before, after = block.usage
    gates: list[Gate] = []
    if result is not None and fault is None:
        generator = Completed(0, "", "", result.elapsed_s, result.client_cpu_s or 0.0)
        judged = replace(result, run_wait_share=_run_wait_share(results))
        evidence = Evidence(
            load.spec,
            judged,
            generator,
            samples=(),
            cpus=world.server_cpus,
            workers_gone=block.workers_gone,
            listen_drops=_sum([part.listen_drops for part in slices]),
            link=world.link if instance.contender.role == "contender" else None,
            window_s=result.sending_s / len(results),
        )
        gates = [*judge_slices(evidence), *block.gates]
        if (steady := steady_gate(context.steady)) is not None:
            gates.append(steady)
    witness = {} if context.witness_per_s is None else {"witness_per_s": context.witness_per_s}
    series: dict[str, list[Any]] = {
        SERIES: [part.row() | witness for part in slices],
        "load": list(result.series) if result else [],
    }
    return TrialRecord.at(
        context,
        connections=load.spec.connections,
        command=load.command,
        state="failed" if fault else "ok",
        reason=fault,
        rate_per_s=result.rate_per_s if result else None,
        requests_ok=result.requests_ok if result else None,
        elapsed_s=result.elapsed_s if result else None,
        server_cpu_us_per_request=cpu_us_per_request(before, after, result),
        memory_peak_bytes=after.memory_peak_bytes or None if after else None,
        processes=after.processes if after else None,
        threads=after.threads if after else None,
        result=other_figures(result)
        | database_figures(_total([part.database_cpu_s for part in slices]), result)
        | {"block_network": dict(block.network)},
        histograms=result.histograms if result else {},
        series={name: rows for name, rows in series.items() if rows},
        errors=result.errors if result else {},
        gates=gates,
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _total(seconds: Sequence[float | None]) -> float | None:
    known = [part for part in seconds if part is not None]
    return sum(known) if known else None


def _run_wait_share(results: Sequence[LoadResult]) -> float | None:
    """What `client_wait` judges: of the slices that count, where these are at least half."""
    undisturbed = [result for result in results if not client_waited(result)]
    counted = undisturbed if 2 * len(undisturbed) >= len(results) else results
    return mean([result.run_wait_share for result in counted], counted)
