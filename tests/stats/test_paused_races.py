"""A contender's effect is its true long-run rate, pauses included; so is its interval."""

from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.distributions import t_critical
from deadheat.stats.model.slice_model import fit_slices
from tests.stats.paused_races import Pauses, paused_race
from tests.stats.races import binomial_limit
from tests.stats.slice_races import QUIET, Field, Schedule, race

MOST_BIAS = 0.02
# Kinds of pauses that all take a fifth of the time but the last, and the rounds of a race: with
# 96, a race has about one pause of a second, and most of what it shows of them is luck.
KINDS = (
    (Pauses(0.005, 292), 96, 25),
    (Pauses(0.020, 1_168), 96, 25),
    (Pauses(0.050, 2_920), 96, 25),
    (Pauses(0.200, 11_680), 96, 40),
    (Pauses(1.000, 116_800), 800, 12),
)


@pytest.mark.parametrize(
    ("pauses", "rounds", "races"), KINDS, ids=lambda value: str(getattr(value, "pause_s", value))
)
def test_pauses_are_in_the_rate_in_full(pauses: Pauses, rounds: int, races: int) -> None:
    generator = np.random.default_rng(61)
    errors, missed = [], 0
    for _ in range(races):
        fit = fit_slices(paused_race(generator, (pauses, Pauses()), Schedule(rounds, 4))).estimate
        errors.append(fit.log_rate[0] - fit.log_rate[1] - pauses.true_log_rate)
        reach = t_critical(0.025, fit.degrees_of_freedom[0, 1]) * np.sqrt(fit.variance[0, 1])
        missed += bool(abs(errors[-1]) > reach)
    chance = 2 * np.std(errors) / np.sqrt(races)
    assert abs(np.mean(errors)) <= MOST_BIAS + chance
    assert missed / races <= binomial_limit(0.1, races)


def test_an_instance_has_the_mean_cycle_time_of_its_requests() -> None:
    """One contender alone, so no state of the machine can take a part of it."""
    slices = paused_race(np.random.default_rng(62), (Pauses(0.2, 11_680),), Schedule(60, 1))
    cycles = np.exp(-slices.log_rate)
    mean = np.average(cycles, weights=slices.weight)
    assert fit_slices(slices).estimate.log_rate[0] == pytest.approx(-np.log(mean), abs=0.02)


def test_a_slice_of_few_requests_says_little() -> None:
    slices = race(np.random.default_rng(63), Field.copies(3), Schedule(40, 4), QUIET)
    few = np.where(np.arange(len(slices)) % 7 == 0, 1e-6, 1.0)
    wrong = slices.log_rate - 2.0 * (few < 1)
    seen, left_out = replace(slices, log_rate=wrong), slices.taken(few == 1.0)
    effects = fit_slices(replace(seen, weight=few)).estimate.log_rate
    expected = fit_slices(left_out).estimate.log_rate
    assert np.diff(effects) == pytest.approx(np.diff(expected), abs=0.002)
