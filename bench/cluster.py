#!/usr/bin/env python3
"""How long a cluster run takes on 1 to 100 pairs of hosts, and how wide its intervals are.

    python bench/cluster.py [--servers 133] [--repeats 40] > docs/results/cluster.txt

Nothing is measured. The first table places servers with the code of `deadheat cluster run`
(`jobs_of`, `Dispatch`) on a clock that is only counted. A server takes as long as one of the stored
races did: its starts, warm-ups and slices, and its part of what lies between them. Builds are not
contained. A host dies at random moments; its pair gets no further run.

The second table fits simulated runs with the model of `deadheat cluster run`. Their errors are
those of the stored races; what a pair of hosts does to one contender alone is assumed.
"""

import argparse
import heapq
import itertools
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from deadheat.cluster.race import Dispatch, jobs_of
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.ranking.host_pairs import HostPairRun, fit_host_pairs
from deadheat.store.bundle import open_bundle
from deadheat.store.json_columns import WarmUp
from deadheat.store.listing import run_ids

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RACES = ("make-run", "race-24-a", "race-24-b")
SHARED, CONTROLS = 2, 2
PAIRS = (1, 2, 10, 100)
INTERACTIONS = (0.0, 0.01, 0.03)
ALPHA = 0.05
TOGETHER = 6  # the default of --together


@dataclass(frozen=True, slots=True)
class Outcome:
    """One simulated placement."""

    elapsed_s: float
    shared_share: float  # of the time of all runs: shared servers and controls
    idle_share: float  # of the time of all pairs until the end
    runs: int
    again: int  # runs that did not end
    given_up: int


def main() -> None:
    options = _options()
    views = [_view(name) for name in RACES]
    times_s = [time_s for view in views for time_s in contender_times_s(view)]
    print("$ python", " ".join(sys.argv))
    print(
        f"{len(times_s)} stored times of a server in a race: median "
        f"{statistics.median(times_s):.0f} s, {min(times_s):.0f} to {max(times_s):.0f} s\n"
    )
    print(f"{options.servers} servers, {options.repeats} placements: medians, and means of counts")
    print("deaths/h  pairs     hours  times faster  shared  idle   runs  again  given up")
    for deaths_per_h in (0.0, options.deaths_per_hour):
        single_s = 0.0
        for pairs in PAIRS:
            outcomes = [
                place(options.seed + repeat, times_s, options.servers, pairs, deaths_per_h)
                for repeat in range(options.repeats)
            ]
            single_s = single_s or _median(outcomes, "elapsed_s")
            elapsed_s = _median(outcomes, "elapsed_s")
            shares = [100 * _median(outcomes, f"{name}_share") for name in ("shared", "idle")]
            counts = [
                statistics.fmean(getattr(outcome, name) for outcome in outcomes)
                for name in ("runs", "again", "given_up")
            ]
            print(
                f"{deaths_per_h:8.2f}  {pairs:5}  {elapsed_s / 3600:8.2f}  "
                f"{single_s / elapsed_s:12.1f}  {shares[0]:4.0f} %  {shares[1]:2.0f} %  "
                f"{counts[0]:5.1f}  {counts[1]:5.1f}  {counts[2]:8.1f}"
            )
    print(
        f"\n95 % interval of the ratio of two servers on different pairs, plus or minus; "
        f"{SHARED} or {2 * SHARED} shared servers and {CONTROLS} controls"
    )
    print("interaction  pairs  shared 2  shared 4  on one pair")
    variances, degrees = errors(views)
    for sd, pairs in itertools.product(INTERACTIONS, [p for p in PAIRS if p > 1]):
        generator = np.random.default_rng(options.seed)
        repeats = options.repeats if pairs < 50 else 2
        widths = [
            statistics.median(
                width(generator, pairs, shared, sd, variances, degrees) for _ in range(repeats)
            )
            for shared in (SHARED, 2 * SHARED)
        ]
        single = float(np.median(_half(2 * variances, degrees)))
        cells = [f"{100 * np.expm1(half):8.1f} %" for half in (*widths, single)]
        print(f"{100 * sd:9.0f} %  {pairs:5}{cells[0]}{cells[1]}{cells[2]:>13}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, default=133)
    parser.add_argument("--repeats", type=int, default=40, help="simulations of each line")
    parser.add_argument("--deaths-per-hour", type=float, default=1.0, help="of each pair of hosts")
    parser.add_argument("--seed", type=int, default=17)
    return parser.parse_args()


def _view(name: str) -> RunView:
    with open_bundle(RESULTS / f"{name}.deadheat") as store:
        return load_view(store, run_ids(store)[0])


def contender_times_s(view: RunView) -> list[float]:
    """What each contender and control took of the whole time of a run."""
    own_s = []
    for contender in (*view.contenders, *view.controls):
        loads_s = sum(trial.elapsed_s or 0.0 for trial in contender.trials)
        starts_s = sum(
            (start.ready_s or 0.0) + len(warm_up.windows_per_s) * (warm_up.window_s or 0.0)
            for start in contender.starts
            for warm_up in [start.steady or WarmUp()]
        )
        own_s.append(loads_s + starts_s)
    assert view.ended_at is not None
    scale = (view.ended_at - view.started_at).total_seconds() / sum(own_s)
    return [scale * each for each in own_s]


def place(
    seed: int,
    times_s: Sequence[float],
    servers: int,
    pairs: int,
    deaths_per_h: float,
) -> Outcome:
    """Carry out one cluster run on a counted clock. A seed has the same servers on any pairs."""
    generator = np.random.default_rng(seed)
    own_s = generator.choice(times_s, servers - SHARED)
    shared_s = float(generator.choice(times_s, SHARED + CONTROLS).sum())
    names = {f"s{n}": float(time_s) for n, time_s in enumerate(own_s)}
    dies_s = generator.exponential(3600 / deaths_per_h, pairs) if deaths_per_h else [np.inf] * pairs
    dispatch = Dispatch(jobs_of(tuple(names), pairs, TOGETHER), pairs)
    now_s = busy_s = spent_shared_s = 0.0
    runs = again = 0
    ends: list[tuple[float, int, tuple[str, ...], bool]] = []
    while True:
        for pair, job in dispatch.starts():
            end_s = now_s + shared_s + sum(names[name] for name in job.servers)
            dead = end_s > dies_s[pair]
            end_s = max(min(end_s, dies_s[pair]), now_s)
            busy_s, runs = busy_s + end_s - now_s, runs + 1
            spent_shared_s += 0.0 if dead else shared_s
            heapq.heappush(ends, (end_s, pair, job.servers, dead))
        if not ends:
            break
        now_s, pair, unmeasured, dead = heapq.heappop(ends)
        again += dead
        dispatch.ended(pair, unmeasured if dead else (), lost=dead)
    missing = len(dispatch.given_up) + len(dispatch.waiting)
    idle = max(0.0, 1 - busy_s / (now_s * pairs))  # rounding may leave less than none
    return Outcome(now_s, spent_shared_s / busy_s, idle, runs, again, missing)


def errors(views: Sequence[RunView]) -> tuple[Floats, Floats]:
    """The variance of one contender's log rate in a stored race, and its degrees of freedom.

    Half of that of a pair of contenders, for the pairs of neighbors in the order of entry.
    """
    fits = [level.fit.estimate for view in views for level in view.sliced.values()]
    variances = np.concatenate([np.diag(fit.variance, 1) / 2 for fit in fits])
    degrees = np.concatenate([np.diag(fit.degrees_of_freedom, 1) for fit in fits])
    known = np.isfinite(variances) & np.isfinite(degrees)
    return variances[known], degrees[known]


def width(
    generator: np.random.Generator,
    pairs: int,
    shared: int,
    interaction_sd: float,
    variances: Floats,
    degrees: Floats,
) -> float:
    """The half width of a log ratio across pairs with one run each, of different servers."""
    everywhere = shared + CONTROLS
    runs = []
    for pair in range(pairs):
        who = np.array([*range(everywhere), everywhere + pair])
        chosen = generator.integers(len(variances), size=len(who))
        own, own_degrees = variances[chosen], degrees[chosen]
        rate = generator.normal(0, np.sqrt(own + interaction_sd**2))
        variance = own[:, None] + own
        both = np.sqrt(own_degrees[:, None] * own_degrees)
        np.fill_diagonal(variance, 0.0)
        none = np.zeros((2, len(who)))
        runs.append(HostPairRun(pair, who, rate, variance, both, *none))
    fit = fit_host_pairs(runs, everywhere + pairs, pairs)
    assert fit is not None
    half = _half(fit.contenders.variance, fit.contenders.degrees_of_freedom)
    return float(np.median(half[everywhere:, everywhere:][np.triu_indices(pairs, 1)]))


def _half(variance: Floats, degrees: Floats) -> Floats:
    return np.asarray(t_critical(ALPHA / 2, degrees) * np.sqrt(variance))


def _median(outcomes: Sequence[Outcome], name: str) -> float:
    return float(statistics.median(getattr(outcome, name) for outcome in outcomes))


if __name__ == "__main__":
    main()
