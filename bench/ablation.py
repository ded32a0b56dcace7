"""What does each part of the model of slices buy? Fits without it, over stored and simulated races.

    uv run python -m bench.ablation [--races 200] [BUNDLE ...]

Each row leaves out one part. For stored races it has the median half-width of the simultaneous
95 % intervals of all pairs; for simulated ones (bench/model.py) also how often any interval of a
race is wrong. A part stays if intervals are at least 10 % wider without it at the same coverage.
"""

import argparse
import contextlib
import math
import os
import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from bench.model import cases, rate, truth_of
from deadheat.measure.slices import SERIES, TrialSlices, columns_of
from deadheat.stats import counted_slices, slice_model
from deadheat.stats.counted_slices import count_slices, slices_of
from deadheat.stats.distributions import t_critical
from deadheat.stats.model_ranking import rank_from_model
from deadheat.stats.modeled import modeled_names
from deadheat.stats.placement import placements
from deadheat.stats.settling import Settling
from deadheat.stats.slice_model import fit_slices
from deadheat.store import Store, read_run
from deadheat.store.bundle import import_runs, open_bundle
from deadheat.store.listing import run_ids
from tests.stats import slice_races

SIMULATED = ("mixed 8, bursts", "copies 2, bursts", "mixed 24, bursts", "copies 8, two speeds",
             "copies 8, CPUs move", "mixed 8, 8 instances", "mixed 8, quiet")  # fmt: skip


def even_weights(layout: Any, _: Any) -> Any:
    return np.ones(len(layout))


def one_placement(before_ns: Any, after_ns: Any) -> Any:
    nowhere = np.full(len(before_ns), math.nan)
    return placements(nowhere, nowhere)


def settled(rates: Any, *_: Any) -> Settling:
    return Settling(0, True, 0.0, "")


PARTS: Mapping[str, tuple[tuple[Any, str, Callable[..., Any]], ...]] = {
    "nothing": (),
    "placements and responses": ((counted_slices, "placements", one_placement),),
    "neighbor weights": ((slice_model, "neighbor_weights", even_weights),),
    "early slices left out": ((counted_slices, "settling", settled),),
}
PARTS = {
    **PARTS,
    "all of these": tuple(each for part in PARTS.values() for each in part),
}
WAITED = "slices of a waiting client left out"


@contextlib.contextmanager
def without(part: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for module, name, instead in PARTS.get(part, ()):
            stack.enter_context(patch.object(module, name, instead))
        yield


def stored_half_widths(path: Path) -> Iterator[tuple[str, float]]:
    """Without each part, the median over all pairs of the first run of a bundle."""
    with (
        TemporaryDirectory() as folder,
        open_bundle(path) as bundle,
        Store(Path(folder) / "runs.sqlite") as store,
    ):
        import_runs(store, bundle, path.stem)
        run = read_run(store, run_ids(store)[0])
        series = run.packed_series(SERIES)
        names = {contender.id: contender.name for contender in run.contenders}
        valid = [
            (names[trial.contender_id], trial, [dict(row) for row in series[trial.id]])
            for trial in run.trials
            if trial.kind == "measure" and trial.state == "ok"
            if trial.id in series and trial.id not in run.gates_failed
        ]
        contenders = [each.name for each in run.contenders if each.role == "contender"]
        controls = [each.name for each in run.contenders if each.role != "contender"]
    for part in (*PARTS, WAITED):
        everyone = [*contenders, *controls]
        trials = []
        for name, trial, rows in valid:
            if part == WAITED:
                rows = [{**row, "client_waited": False} for row in rows]
            place = everyone.index(name)
            trials.append(TrialSlices(place, trial.instance_id or 0, trial.block, rows))
        with without(part):
            columns = count_slices(columns_of(everyone, trials)).slices
            racing = modeled_names(columns, contenders, controls)
            fit = fit_slices(slices_of(columns, racing))
        ratios = [pair.ratio for pair in rank_from_model(fit, racing, controls=controls).pairs]
        logs = [math.log(each.high / each.low) / 2 if each.low else math.inf for each in ratios]
        yield part, math.exp(float(np.median(logs))) - 1


def simulated(name: str, part: str, seed: int) -> tuple[bool, float]:
    """Whether any interval of a race is wrong, and the median half-width."""
    case = cases()[name]
    generator = np.random.default_rng([seed, *name.encode()])
    slices = slice_races.race(generator, case.field, case.schedule, case.machine)
    truth = truth_of(case, slices)
    if "placements" in part or part.startswith("all"):
        slices = replace(slices, placement=np.zeros(len(slices), dtype=np.int64))
    with without(part):
        fit = fit_slices(slices).estimate
    upper = np.triu_indices(len(truth), k=1)
    reach = t_critical(0.025 / len(upper[0]), fit.degrees_of_freedom) * np.sqrt(fit.variance)
    log_ratio = fit.log_rate[:, None] - fit.log_rate
    miss = np.abs(log_ratio - (truth[:, None] - truth))
    return bool((miss > reach)[upper].any()), float(np.median(reach[upper]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--races", type=int, default=200, help="simulated races of each case")
    parser.add_argument("bundles", nargs="*", type=Path, help="stored races in slices")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    print(f"{'without':38}{'median half-width, %':>22}{'any wrong, %':>16}")
    for path in arguments.bundles:
        print(path.stem, flush=True)
        for part, half_width in stored_half_widths(path):
            print(f"  {part:36}{100 * half_width:>22.2f}", flush=True)
    for name in SIMULATED if arguments.races else ():
        print(f"{name} (simulated)", flush=True)
        for part in [part for part in PARTS if not part.startswith("early")]:
            results = [simulated(name, part, seed) for seed in range(arguments.races)]
            width = 100 * statistics.median(width for _, width in results)
            wrong = rate(wrong for wrong, _ in results)
            print(f"  {part:36}{width:>22.2f}{wrong:>16}", flush=True)


if __name__ == "__main__":
    main()
