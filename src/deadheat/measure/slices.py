"""Slices of one instance at one level, and the trial that they add up to in a block."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from deadheat.errors import DeadheatError
from deadheat.host import Completed, Usage
from deadheat.load import LoadResult
from deadheat.load.engine import SliceRequest
from deadheat.load.pooling import mean, pool
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance
from deadheat.measure.database import DatabaseTime
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import client_waited, judge_slices
from deadheat.measure.load_process import LoadProcess, load_slice
from deadheat.measure.trial import TrialContext, database_figures, death, trial_record
from deadheat.measure.world import World
from deadheat.store import Gate, TrialRecord
from deadheat.store.slices import StoredSlice

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: when it began, in which round, and what it measured or why it did not."""

    at_s: float
    round: int
    result: LoadResult | None
    fault: str | None = None
    database_cpu_s: float | None = None  # of the workload's database; None: there is none
    listen_drops: int | None = None  # of the listen queues, while it was the only one that ran

    def stored(self, witness_per_s: float | None) -> StoredSlice:
        """As it is kept with its trial, beside the rate of its instance without slices."""
        result = self.result
        if result is None:
            return StoredSlice(at_s=self.at_s, round=self.round, witness_per_s=witness_per_s)
        return StoredSlice(
            at_s=self.at_s,
            round=self.round,
            rate_per_s=result.rate_per_s,
            requests_ok=result.requests_ok,
            elapsed_s=result.elapsed_s,
            window_s=result.sending_s,
            paused_s=result.paused_s or None,
            longest_pause_us=result.longest_pause_us if result.paused_s else None,
            database_cpu_s=self.database_cpu_s,
            skew_us=result.skew_us,
            client_waited=client_waited(result),
            witness_per_s=witness_per_s,
        )


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
    database = DatabaseTime.begin(world.database, load.spec)
    if database.failed is not None:
        return Slice(at_s, round_number, None, database.failed)
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
    if (death_of_database := database.fault()) is not None:
        return Slice(at_s, round_number, None, death_of_database)
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
    gates: list[Gate] = []
    if result is not None and fault is None:
        generator = Completed(0, "", "", result.elapsed_s, result.client_cpu_s or 0.0)
        evidence = Evidence(
            load.spec,
            replace(result, run_wait_share=_run_wait_share(results)),
            generator,
            samples=(),
            cpus=world.server_cpus,
            workers_gone=block.workers_gone,
            listen_drops=_sum_of_known(part.listen_drops for part in slices),
            link=world.link if instance.contender.role == "contender" else None,
            window_s=result.sending_s / len(results),
        )
        gates = [*judge_slices(evidence), *block.gates]
    database_s = _sum_of_known(part.database_cpu_s for part in slices)
    return trial_record(
        context,
        load.spec,
        load.command,
        result,
        fault,
        block.usage,
        figures={
            **database_figures(database_s, result),
            **({"reached_per_s": reached_per_s(results)} if load.spec.rate_per_s else {}),
            "block_network": dict(block.network),
        },
        series={"load": list(result.series) if result else []},
        slices=[part.stored(context.witness_per_s) for part in slices],
        gates=gates,
    )


def reached_per_s(results: Sequence[LoadResult]) -> float | None:
    """Answers per second of slices in open loop, from the first request to the last answer.

    A server that falls behind still answers what is due after the window. None without a time.
    """
    answered, time_s = 0, 0.0
    for result in results:
        sent = result.requests_sent_in_all or result.requests_ok
        before = max(sent - result.requests_ok - result.errors_total, 0)
        last_s = max([result.sending_s, *(row["at_s"] for row in result.series[-1:])])
        time_s += before / (result.offered_rate_per_s or math.inf) + last_s
        answered += before + result.requests_ok
    return answered / time_s if time_s else None


def _sum_of_known(numbers: Iterable[Number | None]) -> Number | None:
    """The sum of those that are known; None if none is."""
    known = [number for number in numbers if number is not None]
    return sum(known[1:], known[0]) if known else None


def _run_wait_share(results: Sequence[LoadResult]) -> float | None:
    """What `client_wait` judges: of the slices that count, where these are at least half."""
    undisturbed = [result for result in results if not client_waited(result)]
    counted = undisturbed if 2 * len(undisturbed) >= len(results) else results
    return mean(counted, "run_wait_share")
