"""Stored races in slices: the slices that a test needs, block by block."""

from collections.abc import Mapping
from typing import Any

from deadheat.store.slices import StoredSlice
from tests.report.made import MadeRun, failed

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
    valid_blocks: Mapping[str, int] | None = None,
    paused: Mapping[str, Mapping[str, Any]] | None = None,
    workload: str = "hello",
) -> None:
    """A race of eight blocks over two instances of each, whose rates are `apart` above and below.

    Trials after the valid blocks of a contender failed `steal`. `paused` has more figures of its
    slices.
    """
    for name in rates:
        if name not in run.ids:
            run.contender(name)
    starts = {name: [run.start(name, number) for number in (1, 2)] for name in rates}
    for block in range(1, BLOCKS + 1):
        for name, rate_per_s in rates.items():
            which = block % 2
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
