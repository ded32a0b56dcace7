"""Slices at another speed of the machine are found by what the other contenders did."""

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.machine_speed import at_usual_speed
from deadheat.stats.slice_model import fit_slices
from deadheat.stats.slices import Indices
from tests.stats import slice_races
from tests.stats.slice_races import Field, Machine, Schedule

CONTENDERS, ROUNDS = 8, 60


def usual_of(log_rate: Floats, contender: Indices, segment: Indices) -> npt.NDArray[np.bool_]:
    """Where the CPUs stayed in one placement."""
    return at_usual_speed(log_rate, contender, segment, np.zeros(len(log_rate), dtype=np.int64))


def race(noise: float = 0.01) -> tuple[Floats, Indices, Indices]:
    """Log rates, contenders and segments: rounds in which every contender has a slice."""
    contender = np.tile(np.arange(CONTENDERS), ROUNDS)
    segment = np.arange(len(contender)) // (10 * CONTENDERS)
    generator = np.random.default_rng(1)
    return contender + noise * generator.standard_normal(len(contender)), contender, segment


def test_a_steady_machine_has_one_speed() -> None:
    assert usual_of(*race()).all()


def test_a_time_at_which_most_contenders_gain_is_found_for_all() -> None:
    log_rate, contender, segment = race()
    other = np.zeros(len(log_rate), dtype=bool)
    other[100:160] = True
    gains = np.linspace(0, 0.2, CONTENDERS)
    usual = usual_of(log_rate + other * gains[contender], contender, segment)
    wrong = np.flatnonzero(usual == other)
    assert set(wrong) <= {*range(96, 104), *range(156, 164)}, "only at its beginning and its end"


def test_what_one_contender_does_leaves_all_slices_at_the_usual_speed() -> None:
    log_rate, contender, segment = race()
    own = (contender == 3) & (segment >= 3)
    assert usual_of(log_rate - 0.5 * own, contender, segment).all()


def test_a_machine_that_drifts_has_no_other_speed() -> None:
    log_rate, contender, segment = race()
    drift = np.linspace(-0.2, 0.2, len(log_rate))
    assert usual_of(log_rate + drift, contender, segment).all()


def test_two_contenders_show_no_speed_of_the_machine() -> None:
    """One of the two may have changed by itself."""
    contender = np.tile([0, 1], 40)
    log_rate = np.where((contender == 0) & (np.arange(80) < 20), 0.3, 0.0)
    assert usual_of(log_rate, contender, np.zeros(80, dtype=np.int64)).all()


def test_no_slices_are_no_error() -> None:
    nothing = np.array([], dtype=np.int64)
    assert len(usual_of(np.array([]), nothing, nothing)) == 0


def test_a_race_at_two_speeds_has_the_ratios_of_the_usual_one() -> None:
    machine = Machine(0.005, drift_sd=0, disturbances_per_s=0, spikes=0, changes_per_s=0.05)
    field = Field.copies(CONTENDERS, instance_sd=0.001)
    errors = {True: 0.0, False: 0.0}
    for seed in range(5):
        slices = slice_races.race(np.random.default_rng(seed), field, Schedule(160, 4), machine)
        fit = fit_slices(slices)
        for robust, estimate in ((True, fit.robust), (False, fit.plain)):
            errors[robust] += float(np.ptp(estimate.log_rate))
    assert errors[True] < 0.7 * errors[False]
