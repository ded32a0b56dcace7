"""What does it change that the hypervisor moves CPUs? Out of stored races, which have read it.

    python -m bench.placements runs.sqlite

For each race: the two placements of the CPUs by the latency from CPU to CPU, and the median
half-width of the simultaneous 95 % intervals of all pairs, as a fraction of the ratio, without the
latency and with it. Then for each contender, the median over the races of its rate with the CPUs
near each other over that with the CPUs far from each other.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deadheat.measure.slices import SERIES, TrialSlices, columns_of
from deadheat.stats.counted_slices import count_slices, slices_of
from deadheat.stats.model_ranking import rank_from_model
from deadheat.stats.placement import placements
from deadheat.stats.slice_columns import SliceColumns
from deadheat.stats.slice_model import fit_slices
from deadheat.stats.slices import Slices
from deadheat.store import Store, read_run
from deadheat.store.listing import run_ids

FEWEST = 8  # slices in each placement


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("store", type=Path, help="a store with races in slices of one field")
    path = parser.parse_args().store
    print(f"$ python -m bench.placements {path.name}\n")
    print(f"{'race':22}{'placements':>28}{'without':>10}{'with it':>10}")
    widths: list[list[float]] = []
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    with Store(path, read_only=True) as store:
        for run_id in run_ids(store)[::-1]:
            names, columns = read(store, run_id)
            slices = slices_of(columns, names)
            placed = placements(columns.before_ns, columns.after_ns)
            blind = replace(slices, placement=np.zeros(len(slices), dtype=np.int64))
            widths.append([half_width(each, names) for each in (blind, slices)])
            known = zip(placed.latency_ns, placed.share, strict=True)
            shares = ", ".join(f"{latency_ns:.0f} ns {share:.0%}" for latency_ns, share in known)
            print(f"{run_id:22}{shares:>28}{widths[-1][0]:>10.1%}{widths[-1][1]:>10.1%}")
            near = int(np.argmin(placed.latency_ns))
            for contender, name in enumerate(names):
                ratios[name] += near_over_far(slices, slices.contender == contender, near)
    without, with_it = np.median(widths, axis=0)
    print(f"{'median':50}{without:>10.1%}{with_it:>10.1%}\n")
    print(f"{'near / far':24}{'median':>8}{'races':>8}")
    for name, own in ratios.items():
        print(f"{name:24}{np.median(own) if own else math.nan:>8.2f}{len(own):>8}")


def read(store: Store, run_id: str) -> tuple[list[str], SliceColumns]:
    """The contenders of a race, and its slices that count."""
    run = read_run(store, run_id)
    places = {contender.id: place for place, contender in enumerate(run.contenders)}
    rows = run.packed_series(SERIES)
    trials = [
        TrialSlices(places[each.contender_id], each.instance_id or 0, each.block, rows[each.id])
        for each in run.trials
        if each.kind == "measure" and each.state == "ok"
        if each.id in rows and each.id not in run.gates_failed
    ]
    columns = count_slices(columns_of([each.name for each in run.contenders], trials)).slices
    contenders = [c.name for c in run.contenders if c.role == "contender"]
    return [name for name in contenders if name in columns.present], columns


def near_over_far(slices: Slices, own: npt.NDArray[np.bool_], near: int) -> list[float]:
    """The ratio of the median rates, if there are enough slices in both placements."""
    rates = [slices.log_rate[own & (slices.placement == place)] for place in (near, 1 - near)]
    if min(map(len, rates)) < FEWEST:
        return []
    return [math.exp(np.median(rates[0]) - np.median(rates[1]))]


def half_width(slices: Slices, names: Sequence[str]) -> float:
    ranking = rank_from_model(fit_slices(slices), names)
    logs = [math.log(pair.ratio.high / pair.ratio.low) / 2 for pair in ranking.pairs]
    return math.expm1(float(np.median(logs)))


if __name__ == "__main__":
    main()
