"""The model of slices against simulated races: is it honest, and how sharp is it?

    uv run python -m bench.model [--races 400] [CASE ...]

Each case simulates races whose truth is known (tests/stats/slice_races.py) and prints, with Monte
Carlo errors, how often any pair of a race is falsely told apart at 5 % over all pairs, and how wide
the intervals are. Cases in lockstep also show what `fit_pairs` makes of the same slices, averaged
by block. `detect` counts true differences found, `looks` a race with five looks and contenders
that stop as soon as their place is settled, `variances` compares ways to estimate the variance of
instances, `transports` has races over http and https, `speed` times the largest fit.
"""

import argparse
import math
import os
import statistics
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.model.slices import SliceArrays
from deadheat.stats.model.variances import learn_variances, moderate
from deadheat.stats.ranking.alpha_spending import Looks
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.model_ranking import rank_from_model
from deadheat.stats.ranking.pairs import fit_pairs
from deadheat.stats.ranking.ranks import rank
from tests.report.sliced import TRANSPORT_RACES, race_over_two_transports
from tests.stats import slice_races
from tests.stats.slice_races import Field, Machine, Schedule

ALPHA = 0.05
EARLY = (40, 40, 50, 60, 80, 100, 120, 120)
SETTINGS = ((4, 80, 0.01), (8, 160, 0.01), (12, 200, 0.01), (12, 200, 0.02))
UNEVEN = (3, 4, 12, 3, 10, 8, 3, 12)


@dataclass(frozen=True)
class Case:
    """A kind of race, all contenders equally fast but for their own pauses."""

    field: Field
    schedule: Schedule
    machine: Machine = slice_races.NOISY


@dataclass(frozen=True)
class Outcome:
    """One estimate of one race: any false difference, that of contender 0, and half widths."""

    any_false: bool
    pair_false: float
    first_pair_false: float
    half_width: float

    @classmethod
    def of(cls, log_ratio: Floats, error: Floats, degrees: Floats, truth: Floats) -> "Outcome":
        upper = np.triu_indices(len(truth), k=1)
        miss = np.abs(log_ratio - (truth[:, None] - truth))
        half_width = t_critical(ALPHA / 2 / len(upper[0]), degrees) * error
        alone = miss > t_critical(ALPHA / 2, degrees) * error
        return cls(
            any_false=bool((miss > half_width)[upper].any()),
            pair_false=float(alone[upper].mean()),
            first_pair_false=float(alone[0, 1:].mean()),
            half_width=float(np.median(half_width[upper])),
        )


def cases() -> dict[str, Case]:
    mixed = {count: Field.mixed([0.0] * count) for count in (4, 8, 15, 24)}
    unstable = Field.mixed([0.0] * 8, start_unstable=True)
    named = {
        "copies 15": Case(Field.copies(15), Schedule(60, 4)),
        "copies 15, long": Case(Field.copies(15), Schedule(160, 8)),
        "copies 15, all pause": Case(Field.copies(15, pauses=slice_races.PAUSES), Schedule(60, 4)),
        "mixed 8, quiet": Case(mixed[8], Schedule(80, 4), slice_races.QUIET),
        "mixed 8, 3 instances in 20 rounds": Case(mixed[8], Schedule(20, 3)),
        "mixed 8, drift": Case(mixed[8], Schedule(80, 4), slice_races.DRIFTING),
        "copies 8, two speeds": Case(Field.copies(8), Schedule(120, 8), slice_races.TWO_SPEEDS),
        "mixed 8, two speeds": Case(mixed[8], Schedule(120, 4), slice_races.TWO_SPEEDS),
        "mixed 8, bursts": Case(mixed[8], Schedule(160, 6), slice_races.BURSTS),
        "copies 2, bursts": Case(Field.copies(2), Schedule(160, 6), slice_races.BURSTS),
        "mixed 24, bursts": Case(mixed[24], Schedule(80, 4), slice_races.BURSTS),
        "mixed 8, uneven instances": Case(mixed[8], Schedule(120, UNEVEN)),
        "mixed 8, stopped early": Case(mixed[8], Schedule(120, (3, 3, 4, 4, 5, 6, 8, 10), EARLY)),
    }
    for count, instances, rounds in (
        (4, 4, 80), (8, 3, 60), (8, 4, 80), (8, 8, 120), (8, 12, 200), (15, 4, 80),
        (24, 4, 60), (24, 10, 120),
    ):  # fmt: skip
        named[f"mixed {count}, {instances} instances"] = Case(
            mixed[count], Schedule(rounds, instances)
        )
    copies, turns = Field.copies(8), Schedule(320, 6, turns=True)
    named["copies 8, turns"] = Case(copies, turns, slice_races.QUIET)
    for own_s in (60, 20):
        slow = replace(copies, own_sd=0.02, own_s=own_s)
        named[f"copies 8, own noise {own_s} s"] = Case(slow, turns, slice_races.QUIET)
    unsteady = replace(copies, own_sd=[0.03] + [0.0] * 7)
    named["copies 8, own noise of one"] = Case(unsteady, turns, slice_races.QUIET)
    pair, short = Field.copies(2), Schedule(600, 4, turns=True)
    named["copies 2, turns"] = Case(pair, short, slice_races.QUIET)
    named["copies 2, own noise 60 s"] = Case(replace(pair, own_sd=0.02), short, slice_races.QUIET)
    for instances in (3, 4, 8):
        named[f"unstable 8, {instances} instances"] = Case(unstable, Schedule(80, instances))
    for name in ("copies 15", "mixed 8, 4 instances", "mixed 8, 8 instances",
                 "mixed 24, 4 instances", "mixed 8, quiet", "unstable 8, 4 instances"):  # fmt: skip
        case = named[name]
        schedule = replace(case.schedule, lockstep=True, rounds_per_block=5)
        named[f"{name}, lockstep"] = replace(case, schedule=schedule)
    return named


def block_rates(slices: SliceArrays, instances: int) -> Floats:
    """Mean rates [invocation, block, contender] of a race in lockstep."""
    blocks = int(slices.block.max()) + 1
    shape = (instances, blocks, slices.contenders)
    key = np.ravel_multi_index((slices.instance % instances, slices.block, slices.contender), shape)
    counts = np.bincount(key, minlength=math.prod(shape))
    with np.errstate(invalid="ignore"):
        means = np.bincount(key, np.exp(slices.log_rate), math.prod(shape)) / counts
    return means.reshape(shape)


def simulate(name: str, seed: int) -> tuple[Outcome, ...]:
    """The model's outcome on one race, and in lockstep also that of `fit_pairs`."""
    case = cases()[name]
    generator = np.random.default_rng([seed, *name.encode()])
    slices = slice_races.race(generator, case.field, case.schedule, case.machine)
    fit = fit_slices(slices)
    truth = case.field.true_log_rates

    def outcome(estimate: EffectEstimate, truth: Floats) -> Outcome:
        log_ratio = estimate.log_rate[:, None] - estimate.log_rate
        error = np.sqrt(estimate.variance)
        return Outcome.of(log_ratio, error, estimate.degrees_of_freedom, truth)

    outcomes = [outcome(fit.estimate, truth)]
    if case.schedule.lockstep:
        assert isinstance(case.schedule.instances, int)
        fits = fit_pairs(block_rates(slices, case.schedule.instances))
        arithmetic = case.field.true_mean_log_rates
        outcomes.append(
            Outcome.of(fits.log_ratio, fits.standard_error, fits.degrees_of_freedom, arithmetic)
        )
    return tuple(outcomes)


def detect(settings: tuple[int, int, float, bool], seed: int) -> tuple[list[bool], list[bool]]:
    """Which of 3, 5, 10 and 0 % a race separates, by the model and by today's ranking."""
    instances, rounds, instance_sd, noisy = settings
    steps = np.log([1.03, 1.05, 1.10, 1.0])
    log_rates = [0.5 * k + (step if second else 0.0) for k, step in enumerate(steps)
                 for second in (False, True)]  # fmt: skip
    field = replace(Field.copies(8, instance_sd), log_rates=log_rates)
    machine = slice_races.NOISY if noisy else slice_races.QUIET
    schedule = Schedule(rounds, instances, lockstep=True, rounds_per_block=5)
    generator = np.random.default_rng([seed, instances, rounds, noisy])
    slices = slice_races.race(generator, field, schedule, machine)
    model = rank_from_model(fit_slices(slices), "01234567")
    old = rank(block_rates(slices, instances), "01234567")
    separated = [
        [ranking.pair(str(2 * k), str(2 * k + 1)).ratio.low > 1 for k in range(4)]
        for ranking in (model, old)
    ]
    return separated[0], separated[1]


def looks(copies: bool, seed: int) -> tuple[bool, float]:
    """A race with five looks: any wrong interval at any look, and the share of slices run.

    A contender stops as soon as all its pairs are decided.
    """
    truth = [0.0] * 8 if copies else [0.0, 0.0, 0.05, 0.05, 0.2, 0.2, 0.4, 0.6]
    field = Field.copies(8) if copies else replace(Field.mixed(truth), pauses=[0] * 8)
    generator = np.random.default_rng([seed, copies])
    schedule = Schedule(160, 8)
    slices = slice_races.race(generator, field, schedule)
    declared = Looks()
    names = "01234567"
    last_round = np.full(8, schedule.rounds)
    wrong, taken = False, None
    for look in range(declared.count):
        upto = int(declared.fraction(look) * schedule.rounds)
        seen = slices.taken((slices.round < upto) & (slices.round < last_round[slices.contender]))
        share = declared.share(look, taken)
        ranking = rank_from_model(fit_slices(seen), names, share=share)
        taken = look
        for pair in ranking.pairs:
            true = truth[int(pair.faster)] - truth[int(pair.slower)]
            low = math.log(pair.ratio.low) if pair.ratio.low > 0 else -math.inf
            wrong |= not low <= true + 1e-12 or true > math.log(pair.ratio.high)
        for k in range(8):
            mine = [pair for pair in ranking.pairs if names[k] in (pair.faster, pair.slower)]
            if all(pair.verdict is not Verdict.UNDECIDED for pair in mine):
                last_round[k] = min(last_round[k], upto)
    return wrong, float(last_round.mean() / schedule.rounds)


def rate(hits: Iterable[bool]) -> str:
    """A share in percent, with its Monte Carlo error."""
    values = [float(hit) for hit in hits]
    share = statistics.fmean(values)
    return f"{100 * share:.1f} ±{100 * math.sqrt(max(share * (1 - share), 1e-4) / len(values)):.1f}"


def print_cases(names: Sequence[str], races: int, pool: ProcessPoolExecutor) -> None:
    if not names:
        return
    print("| case | estimate | any false, % | pair, % | pairs of 0, % | half width, % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        results = list(pool.map(partial(simulate, name), range(races), chunksize=8))
        labels = ("model", "by block")[: len(results[0])]
        for label, outcomes in zip(labels, zip(*results, strict=True), strict=True):
            pair = 100 * statistics.fmean(each.pair_false for each in outcomes)
            first = 100 * statistics.fmean(each.first_pair_false for each in outcomes)
            width = 100 * statistics.median(each.half_width for each in outcomes)
            family = rate(each.any_false for each in outcomes)
            print(f"| {name} | {label} | {family} | {pair:.1f} | {first:.1f} | {width:.1f} |",
                  flush=True)  # fmt: skip


def print_detect(races: int, pool: ProcessPoolExecutor) -> None:
    print("| machine | instance sd | instances, rounds | by | 3 % | 5 % | 10 % | 0 % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for noisy in (False, True):
        for instances, rounds, sd in (
            (4, 80, 0.01),
            (8, 160, 0.01),
            (12, 200, 0.01),
            (12, 200, 0.02),
        ):
            job = partial(detect, (instances, rounds, sd, noisy))
            results = list(pool.map(job, range(races), chunksize=8))
            for k, label in enumerate(("model", "today")):
                shares = [rate(result[k][step] for result in results) for step in range(4)]
                machine = "noisy" if noisy else "quiet"
                row = (machine, f"{sd:.0%}", f"{instances}, {rounds}", label, *shares)
                print(f"| {' | '.join(row)} |", flush=True)


def print_looks(races: int, pool: ProcessPoolExecutor) -> None:
    for copies in (True, False):
        results = list(pool.map(partial(looks, copies), range(races), chunksize=8))
        run = 100 * statistics.fmean(share for _, share in results)
        kind = "copies" if copies else "mixed truths"
        print(f"five looks, 8 {kind}: any wrong interval {rate(w for w, _ in results)} %, "
              f"{run:.0f} % of slices run", flush=True)  # fmt: skip


def variances(settings: tuple[int, int, str], seed: int) -> list[tuple[bool, float]]:
    """Any false difference and the median half width, by how instance variances are estimated.

    Instances' means only, with no slices around them: own mean squares, empirical Bayes with a
    prior of at most 8 degrees, and the hierarchy of `learn_variances`.
    """
    count, instances, kind = settings
    field = Field.copies(count)
    if kind != "copies":
        field = Field.mixed([0.0] * count, start_unstable=kind == "unstable")
    sd = np.hypot(field.instance_sd, 0.008)
    generator = np.random.default_rng([seed, count, instances, *kind.encode()])
    means = sd * generator.standard_normal((instances, count))
    own, degrees = means.var(axis=0, ddof=1), np.full(count, instances - 1.0)
    shrunk, prior = moderate(own, degrees, 8.0)
    results = []
    for variance, known in (
        (own, degrees),
        (shrunk, degrees + prior),
        learn_variances(own, degrees),
    ):
        each = variance / instances
        total = each[:, None] + each
        parts = each**2 / known
        log_rate = means.mean(axis=0)
        outcome = Outcome.of(
            log_rate[:, None] - log_rate,
            np.sqrt(total),
            total**2 / (parts[:, None] + parts),
            np.zeros(count),
        )
        results.append((outcome.any_false, outcome.half_width))
    return results


def print_variances(races: int, pool: ProcessPoolExecutor) -> None:
    print("| contenders | instances | own | empirical Bayes | hierarchy |")
    print("| --- | --- | --- | --- | --- |")
    for count, kind in ((15, "copies"), (8, "mixed"), (8, "unstable"), (24, "mixed")):
        for instances in (2, 3, 4, 8):
            job = partial(variances, (count, instances, kind))
            results = list(pool.map(job, range(races), chunksize=8))
            cells = [
                f"{rate(any_false for any_false, _ in column)}; "
                f"{100 * statistics.median(width for _, width in column):.1f}"
                for column in zip(*results, strict=True)
            ]
            print(f"| {count} {kind} | {instances} | {' | '.join(cells)} |", flush=True)


def transport_race(name: str, seed: int) -> tuple[bool, float, float]:
    return race_over_two_transports(name, np.random.default_rng([seed, *name.encode()]))


def print_transports(races: int, pool: ProcessPoolExecutor) -> None:
    """Each server's rate over the second transport beside the first: see `SlicedLevel.both`."""
    print("| servers | any outside, % | bias, % | half width, % |")
    print("| --- | --- | --- | --- |")
    for name in TRANSPORT_RACES:
        results = pool.map(partial(transport_race, name), range(races), chunksize=8)
        outside, errors, widths = zip(*results, strict=True)
        bias, error = 100 * np.mean(errors), 100 * np.std(errors) / math.sqrt(races)
        width = 100 * statistics.median(widths)
        print(f"| {name} | {rate(outside)} | {bias:+.2f} ±{error:.2f} | {width:.1f} |", flush=True)


def print_speed() -> None:
    field = Field.mixed([0.0] * 24)
    for rounds in (60, 1000):
        slices = slice_races.race(np.random.default_rng(1), field, Schedule(rounds, 10))
        times_s = []
        for _ in range(5):
            begin_s = time.perf_counter()
            fit_slices(slices)
            times_s.append(time.perf_counter() - begin_s)
        print(f"24 contenders, 10 instances each, {rounds} rounds: {min(times_s):.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--races", type=int, default=400, help="races per case")
    parser.add_argument(
        "cases", nargs="*", help="names of cases, or variances, detect, looks, transports, speed"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    wanted = arguments.cases or [*cases(), "variances", "detect", "looks", "transports", "speed"]
    with ProcessPoolExecutor(2) as pool:
        print_cases([name for name in wanted if name in cases()], arguments.races, pool)
        if "detect" in wanted:
            print_detect(arguments.races, pool)
        if "variances" in wanted:
            print_variances(arguments.races, pool)
        if "looks" in wanted:
            print_looks(arguments.races, pool)
        if "transports" in wanted:
            print_transports(arguments.races, pool)
    if "speed" in wanted:
        print_speed()


if __name__ == "__main__":
    main()
