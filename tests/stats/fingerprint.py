"""What the statistics decide and what they compute, on data that tempt the last bit.

    python -m tests.stats.fingerprint STORE

prints the fingerprint of this process as JSON, with the report of STORE's last run. Rates without
noise are in it on purpose: there a difference, a variance or a coefficient is 0 but for rounding.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deadheat.report import load_view, write
from deadheat.stats.agreement import compare
from deadheat.stats.distributions import Floats
from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.model.slices import SliceArrays
from deadheat.stats.ranking.change import change
from deadheat.stats.ranking.model_ranking import rank_from_model
from deadheat.stats.ranking.ranks import Ranking, rank
from deadheat.stats.repetitions import differ, trend
from deadheat.stats.warmup.settling import settling
from deadheat.stats.warmup.steady import read
from deadheat.stats.warmup.warm_rule import Compiler, Rule, Windows
from deadheat.store import Store
from tests.stats.races import MACHINES, Noise
from tests.stats.slice_races import NOISY, QUIET, Field, Schedule, race

NAMES = tuple("abcdef")
LOG_MEANS = (9.0, 9.0, 9.02, 9.1, 9.3, 8.0)
COUNTS = np.array([3000.0, 3000, 3100, 3300, 4100, 1000])  # requests in a second


@dataclass(frozen=True)
class Fingerprint:
    """`decisions` and `report` may not depend on the processor; `figures` only within rounding."""

    decisions: dict[str, Any]
    figures: dict[str, list[float]]
    report: str


def fingerprint(store: Path) -> Fingerprint:
    decisions: dict[str, Any] = {}
    figures: dict[str, list[float]] = {}
    cases = (*_rankings(), *_slice_models(), *_series(), *_comparisons())
    for name, decided, computed in cases:
        decisions[name] = decided
        figures[name] = [float(value) for value in computed]
    return Fingerprint(decisions, figures, _report(store))


Case = tuple[str, Any, list[float]]


def _rates() -> Iterator[tuple[str, Floats]]:
    for name, machine in MACHINES.items():
        if machine.slice_sd == 0.05:
            yield name, machine.rates(np.random.default_rng(7), LOG_MEANS)
    for seconds in (1.0, 0.3, 7.0):
        even = np.broadcast_to(COUNTS / seconds, (3, 7, len(NAMES))).copy()
        yield f"no noise, {seconds} s", even
        drift = 1 + 0.1 * np.random.default_rng(3).random((3, 7, 1))
        yield f"drift without noise, {seconds} s", even * drift
        heats = np.concatenate([even, even * drift])
        heats[:3, :, 1:3] = np.nan
        heats[3:, :, 3:5] = np.nan
        yield f"heats without noise, {seconds} s", heats
        mixed = even * drift
        mixed[:, :, 2:] *= Noise().rates(np.random.default_rng(5), [0.0] * 4, 3, 7)
        yield f"two without noise, {seconds} s", mixed


def _rankings() -> Iterator[Case]:
    rankings = {name: rank(rates, NAMES) for name, rates in _rates()}
    for name, ranking in rankings.items():
        yield f"ranking: {name}", _ranking_decisions(ranking), _ranking_figures(ranking)
    first, *others = rankings
    for other in others:
        agreement = compare(rankings[first], rankings[other])
        yield (
            f"agreement: {first} and {other}",
            agreement.inversions,
            [agreement.tau_b, agreement.low, agreement.high, agreement.tau_b_of_separated],
        )


def _slice_races() -> Iterator[tuple[str, SliceArrays]]:
    mixed = Field.mixed(LOG_MEANS)
    even = Field.copies(len(NAMES), instance_sd=0.01)
    unequal = Schedule(24, 3, last_round=(9, *(24,) * (len(NAMES) - 1)))
    yield "quiet", race(np.random.default_rng(17), mixed, Schedule(24, 3), QUIET)
    yield "noisy copies", race(np.random.default_rng(19), even, Schedule(24, 2), NOISY)
    yield "one left early", race(np.random.default_rng(23), mixed, unequal, NOISY)
    single = race(np.random.default_rng(29), mixed, Schedule(24, 1), QUIET)
    yield "one instance", single
    yield "no noise", replace(single, log_rate=np.array(LOG_MEANS)[single.contender])


def _slice_models() -> Iterator[Case]:
    for name, slices in _slice_races():
        ranking = rank_from_model(fit_slices(slices), NAMES)
        yield (
            f"slice model: {name}",
            {**_ranking_decisions(ranking), "unranked": ranking.unranked},
            _ranking_figures(ranking),
        )


def _ranking_decisions(ranking: Ranking) -> Any:
    return {
        "rows": [(row.name, row.rank, row.group) for row in ranking.rows],
        "pairs": [(pair.faster, pair.slower, pair.verdict) for pair in ranking.pairs],
        "efforts": [pair.effort and asdict(pair.effort) for pair in ranking.pairs],
        "methods": [pair.ratio.method for pair in ranking.pairs],
    }


def _ranking_figures(ranking: Ranking) -> list[float]:
    return [
        *(row.rate_median for row in ranking.rows),
        *(
            figure
            for pair in ranking.pairs
            for figure in (
                *(pair.ratio.ratio, pair.ratio.low, pair.ratio.high),
                pair.probability_faster,
            )
        ),
        ranking.minimum_detectable_effect,
    ]


def _series() -> Iterator[Case]:
    windows = np.arange(40.0)
    noisy = np.exp(np.random.default_rng(11).normal(0, 0.03, len(windows)))
    shapes = {
        "level": np.full(40, 1000 / 3),
        "step": np.where(windows < 15, 0.7, 1000 / 3),
        "fall": np.where(windows < 20, 1000 / 3, 1000 / 7),
        "ramp": 1000 + windows / 3,
        "rounding": 1000 / 3 * (1 + np.where(windows < 20, 1, -1) * 2.0**-52),
    }
    for name, shape in shapes.items():
        for values, how in ((shape, "without noise"), (shape * noisy, "with noise")):
            steady = read(Windows.of(values.tolist(), 0.25), Rule.of(Compiler.NONE))
            settled = settling(values)
            slope = trend(values.tolist())
            assert slope is not None
            yield (
                f"series: {name} {how}",
                {
                    "steady": (steady.verdict, steady.kind, steady.start),
                    "settled": (settled.settled, settled.excluded),
                    "falls": slope.high < -1e-12,
                    "grows": slope.low > 1e-12,
                },
                [
                    *(steady.rate_per_s, steady.drift, steady.drift_error, settled.change),
                    *(slope.per_step, slope.low, slope.high),
                ],
            )


def _comparisons() -> Iterator[Case]:
    for rate in (100.0, 1000 / 3, 12345.678):
        for starts, blocks in ((2, 3), (3, 7), (5, 6)):
            first, second = np.full((4, 4), rate), np.full((starts, blocks), rate)
            changed = change(first, second, 0.05)
            yield (
                f"change: {rate}, {starts} starts, {blocks} blocks",
                {"known": changed.known, "differ": differ(first[0].tolist(), second[0].tolist())},
                [changed.ratio, changed.low, changed.high],
            )


def _report(path: Path) -> str:
    with Store(path, read_only=True) as store:
        run = store.rows("SELECT id FROM run ORDER BY rowid DESC LIMIT 1")[0]["id"]
        return write(load_view(store, str(run)), "md")


if __name__ == "__main__":
    json.dump(asdict(fingerprint(Path(sys.argv[1]))), sys.stdout)
