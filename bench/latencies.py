"""What do latencies of the machine change? Out of a stored race, which has them for each slice.

    python -m bench.latencies docs/results/make-run.deadheat

For each contender: its median rate with the CPUs near each other over that with the CPUs far from
each other, and what it keeps of its rate if a read of memory takes 10 % longer, by least squares of
its slices. Then the median half-width of the simultaneous 95 % intervals of all pairs, as a
fraction of the ratio: without the latencies, with that from CPU to CPU, and with both.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from deadheat.campaign.slice_standings import slice_rows
from deadheat.measure.slices import SERIES
from deadheat.stats.counted_slices import count_slices, slices_of
from deadheat.stats.distributions import Floats
from deadheat.stats.model_ranking import rank_from_model
from deadheat.stats.placement import placements
from deadheat.stats.slice_columns import SliceColumns, SliceTable
from deadheat.stats.slice_model import fit_slices
from deadheat.stats.slices import Slices
from deadheat.store import read_run
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids

SLOWER = 1.1  # times the memory latency
FEWEST = 8  # slices in each placement


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bundle", type=Path, help="a bundle of one race in slices")
    names, columns = read(parser.parse_args().bundle)
    slices = slices_of(columns, names)
    placed = placements(columns.before_ns, columns.after_ns)
    for latency_ns, share in zip(placed.latency_ns, placed.share, strict=True):
        print(f"from CPU to CPU in {latency_ns:.0f} ns: {share:.0%} of the slices")
    near = int(np.argmin(placed.latency_ns))
    print(f"\n{'':24}{'slices':>8}{'near / far':>12}{'memory 10 % slower':>20}")
    for contender, name in enumerate(names):
        own = slices.contender == contender
        print(f"{name:24}{own.sum():>8}{near_over_far(slices, own, near):>12}", end="")
        print(f"{kept(slices, own):>20.2f}")
    print("\nmedian half-width of all pairs")
    nothing = np.zeros(len(slices))
    blind = replace(slices, placement=nothing.astype(np.int64), memory=nothing)
    print(f"  without the latencies  {half_width(blind, names):6.1%}")
    print(f"  with CPU to CPU        {half_width(replace(slices, memory=nothing), names):6.1%}")
    print(f"  with both              {half_width(slices, names):6.1%}")


def read(bundle: Path) -> tuple[list[str], SliceColumns]:
    """The contenders of a race, and its slices that count."""
    with open_bundle(bundle) as store:
        run = read_run(store, run_ids(store)[0])
        names = {contender.id: contender.name for contender in run.contenders}
        table, rows = SliceTable(), run.packed_series(SERIES)
        for trial in run.trials:
            valid = trial.kind == "measure" and trial.state == "ok"
            if valid and trial.id in rows and trial.id not in run.gates_failed:
                name, instance = names[trial.contender_id], trial.instance_id or 0
                table.add(slice_rows(name, instance, trial.block, rows[trial.id]))
    columns = count_slices(table.columns).slices
    contenders = [c.name for c in run.contenders if c.role == "contender"]
    return [name for name in contenders if name in columns.present], columns


def near_over_far(slices: Slices, own: np.ndarray, near: int) -> str:
    rates = [slices.log_rate[own & (slices.placement == place)] for place in (near, 1 - near)]
    if min(map(len, rates)) < FEWEST:
        return "-"
    return f"{math.exp(np.median(rates[0]) - np.median(rates[1])):.2f}"


def kept(slices: Slices, own: np.ndarray) -> float:
    """The share of its rate that a contender keeps, its rates in both placements given."""
    known = own & (slices.placement >= 0)
    columns: list[Floats] = [(slices.placement[known] == place).astype(float) for place in (0, 1)]
    design = np.array([*columns, slices.memory[known]]).T
    solution, *_ = np.linalg.lstsq(design, slices.log_rate[known], rcond=None)
    return float(SLOWER ** solution[-1])


def half_width(slices: Slices, names: Sequence[str]) -> float:
    ranking = rank_from_model(fit_slices(slices), names)
    logs = [math.log(pair.ratio.high / pair.ratio.low) / 2 for pair in ranking.pairs]
    return math.expm1(float(np.median(logs)))


if __name__ == "__main__":
    main()
