import numpy as np
import pytest

from deadheat.stats.distributions import Floats
from deadheat.stats.warmup.settling import settling
from tests.stats.warm_curves import clean_curves

SLICE_S = 0.09


def slices(*levels: tuple[int, float], sd: float = 0.05, seed: int = 1) -> Floats:
    generator = np.random.default_rng(seed)
    means = np.concatenate([np.full(count, rate) for count, rate in levels])
    return means * np.exp(sd * generator.standard_normal(len(means)))


@pytest.mark.parametrize("noise", [0.03, 0.10, 0.20])
@pytest.mark.parametrize("count", [16, 40, 120])
def test_steady_instance_keeps_its_slices(noise: float, count: int) -> None:
    outcomes = [settling(slices((count, 1000), sd=noise, seed=seed)) for seed in range(100)]
    assert np.mean([outcome.excluded == 0 for outcome in outcomes]) >= 0.95


@pytest.mark.parametrize("noise", [0.03, 0.10, 0.20])
@pytest.mark.parametrize("speed", [1.0, 0.4])
def test_finds_that_undertow_still_climbs(noise: float, speed: float) -> None:
    """It was called warm at 27,000 to 40,000 requests, and rose to twice the rate."""
    generator = np.random.default_rng(7)
    curves = clean_curves("java-undertow")["java-undertow"]
    bias = []
    for curve in curves:
        served = float(generator.uniform(27_000, 40_000))
        (run,) = curve.replay(
            generator, 80, noise=noise, speed=speed, served=served, window_s=SLICE_S
        )
        rates = np.diff(run) / SLICE_S
        outcome = settling(rates)
        assert outcome.change > 0.1
        assert outcome.excluded > 0
        if outcome.settled:
            bias.append(rates[outcome.excluded :].mean() / speed / curve.plateau - 1)
    assert abs(np.median(bias)) < 0.1


def test_excludes_what_came_before_a_step_up_or_down_and_little_more() -> None:
    outcome = settling(slices((20, 600), (60, 1000)))
    assert 20 <= outcome.excluded <= 34
    assert outcome.settled
    assert "climbed by" in outcome.reason
    outcome = settling(slices((20, 1000), (60, 700)))
    assert outcome.excluded >= 20
    assert outcome.change < -0.2
    assert "sank by" in outcome.reason


def test_instance_that_moves_in_its_second_half_has_not_settled() -> None:
    outcome = settling(slices((60, 600), (20, 1000)))
    assert not outcome.settled
    assert outcome.excluded == 40
    assert "still moves" in outcome.reason


def test_machine_that_slows_is_not_the_instance() -> None:
    machine = np.concatenate((np.ones(20), np.full(60, 0.5)))
    rates = slices((80, 1000)) * machine
    assert settling(rates).excluded > 0
    assert settling(rates, slices((80, 200), sd=0.02, seed=2) * machine).excluded == 0


def test_disturbed_slices_and_a_change_below_the_least_are_no_climb() -> None:
    rates = slices((80, 1000))
    rates[[2, 3, 9]] *= 0.3
    assert settling(rates).excluded == 0
    rates = slices((40, 1000), (120, 1020), sd=0.005)
    assert settling(rates).excluded == 0
    assert settling(rates, change_min=0.01).excluded > 0


def test_few_slices_show_nothing() -> None:
    outcome = settling(slices((5, 500), (10, 1000)))
    assert (outcome.excluded, outcome.settled) == (0, True)
    assert "too few" in outcome.reason


def test_slices_without_an_answer_are_not_tested() -> None:
    rates = slices((20, 600), (60, 1000))
    rates[::10] = 0
    assert settling(rates).excluded >= 20


def test_rejects_arrays_that_do_not_match() -> None:
    with pytest.raises(ValueError, match="one row each"):
        settling([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="below 0"):
        settling([-1.0])
