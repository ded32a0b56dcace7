"""Races in slices, stored block by block, or simulated and seen as a report sees them."""

import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from deadheat.report.findings.transports import _modeled
from deadheat.report.model.kept import Kept
from deadheat.report.model.slice_fit import sliced_level
from deadheat.stats.model.slices import SliceArrays
from deadheat.stats.ranking.change import UnpairedChange
from deadheat.store.slices import StoredSlice
from tests.report.made import MadeRun, failed
from tests.stats.slice_races import (
    BURSTS,
    DRIFTING,
    NOISY,
    QUIET,
    TWO_SPEEDS,
    Field,
    Machine,
    Schedule,
    race,
)

SLICED: Mapping[str, Any] = {
    "name": "settle",
    "about": "in slices",
    "connections": [100],
    "duration_s": 0.08,
    "generator": "engine",
    "warmup": {"kind": "none"},
    "slices": {"rounds": 4},
    "stopping": {"kind": "settle", "budget_s": 60, "margin": 0.03, "confidence": 0.95},
}
BLOCKS, ROUNDS = 8, 4


def sliced_race(run: MadeRun, rates: Mapping[str, float], **values: Any) -> str:
    """`add_slices` over one workload. Returns the run's id."""
    add_slices(run, rates, **values)
    return run.end(why="budget spent")


def add_slices(
    run: MadeRun,
    rates: Mapping[str, float],
    *,
    apart: float = 0.01,
    instances: Literal[1, 2] = 2,
    valid_blocks: Mapping[str, int] | None = None,
    paused: Mapping[str, Mapping[str, Any]] | None = None,
    workload: str = "hello",
) -> None:
    """A race of eight blocks over the instances of each, whose rates are `apart` above and below.

    Trials after the valid blocks of a contender failed `steal`. `paused` has more figures of its
    slices.
    """
    for name in rates:
        if name not in run.ids:
            run.contender(name)
    starts = {name: [run.start(name, 1 + which) for which in range(instances)] for name in rates}
    for block in range(1, BLOCKS + 1):
        for name, rate_per_s in rates.items():
            which = block % instances
            factor = (1 + apart, 1 - apart)[which]
            slices = [
                StoredSlice(
                    at_s=5.0 * block + 0.5 * number,
                    round=ROUNDS * (block - 1) + number,
                    rate_per_s=(rate := rate_per_s * factor * (1 + 0.01 * run.random.random())),
                    requests_ok=round(0.08 * rate),
                    elapsed_s=0.08,
                    window_s=0.08,
                    **(paused or {}).get(name, {}),
                )
                for number in range(1, ROUNDS + 1)
            ]
            is_valid = block <= (valid_blocks or {}).get(name, BLOCKS)
            run.trial(
                name,
                rate_per_s * factor,
                block=block,
                invocation=which + 1,
                instance_id=starts[name][which],
                at_s=5.0 * block,
                slices=slices,
                workload=workload,
                gates=() if is_valid else failed("steal"),
            )


TRANSPORT_RACES: Mapping[str, tuple[int, Schedule, Machine]] = {
    "mixed 8": (8, Schedule(40, 4, levels=2), NOISY),
    "mixed 8, quiet": (8, Schedule(80, 4, levels=2), QUIET),
    "mixed 8, 8 instances in turns": (8, Schedule(128, 8, turns=True, levels=2), NOISY),
    "mixed 16": (16, Schedule(40, 4, levels=2), NOISY),
    "mixed 8, drift": (8, Schedule(80, 4, levels=2), DRIFTING),
    "mixed 6, bursts": (6, Schedule(80, 4, turns=True, levels=2), BURSTS),
    "mixed 16, bursts": (16, Schedule(40, 4, levels=2), BURSTS),
    "mixed 8, two speeds": (8, Schedule(80, 4, levels=2), TWO_SPEEDS),
    "one server": (1, Schedule(80, 4, levels=2), NOISY),
}


def race_over_two_transports(
    name: str, generator: np.random.Generator
) -> tuple[bool, float, float]:
    """A simulated race whose servers keep 15 to 105 % of their rate over https.

    Returns whether any interval of a server misses that, the mean error of the log ratios of those
    that do not pause by themselves, and the median half width of the intervals.
    """
    servers, schedule, machine = TRANSPORT_RACES[name]
    log_rates = [*np.linspace(9.0, 11.0, servers), *np.linspace(9.05, 9.1, servers)]
    field = replace(Field.copies(2), log_rates=log_rates)
    if servers > 1:
        field = Field.mixed(log_rates)
    truth = field.true_log_rates[servers:] - field.true_log_rates[:servers]
    changes = _second_beside_first(race(generator, field, schedule, machine))
    ratio, low, high = (
        np.log([getattr(each, part) for each in changes]) for part in ("ratio", "low", "high")
    )
    outside = bool(((truth < low) | (truth > high)).any())
    steady = np.reshape(field.pauses, (2, servers)).sum(axis=0) == 0
    return outside, float((ratio - truth)[steady].mean()), float(np.median((high - low) / 2))


def _second_beside_first(slices: SliceArrays) -> list[UnpairedChange]:
    """What a report says of each server: of the second half of the contenders beside the first."""
    servers = slices.contenders // 2
    trials: defaultdict[tuple[int, int, int], list[StoredSlice]] = defaultdict(list)
    for place in np.argsort(slices.time_s):
        rate_per_s = float(np.exp(slices.log_rate[place]))
        key = (slices.contender[place], slices.instance[place], slices.block[place])
        trials[key].append(
            StoredSlice(
                at_s=float(slices.time_s[place]),
                round=int(slices.round[place]),
                rate_per_s=rate_per_s,
                requests_ok=round(0.08 * rate_per_s),
                elapsed_s=0.08,
                window_s=0.08,
            )
        )
    valid: defaultdict[int, list[Any]] = defaultdict(list)
    for (contender, instance, block), own in trials.items():
        valid[int(contender)].append(
            SimpleNamespace(
                instance_id=int(instance),
                block=int(block),
                slices=own,
                at_s=own[0].at_s,
                rate_per_s=statistics.harmonic_mean([each.rate_per_s or 0.0 for each in own]),
            )
        )

    def view(workload: str, half: int) -> Any:
        contenders = [
            SimpleNamespace(
                name=f"server {server}",
                cells={100: SimpleNamespace(valid=valid[half * servers + server])},
            )
            for server in range(servers)
        ]
        return SimpleNamespace(workload=workload, contenders=contenders, controls=[])

    first, other = view("hello", 0), view("hello:https", 1)
    other.sliced = {100: sliced_level(other, 100, Kept(), first)}
    modeled = _modeled(first, other, 100)
    return [modeled[f"server {server}"] for server in range(servers)]
