import math

import numpy as np
import pytest
from scipy import optimize

from deadheat.stats.distributions import Floats
from deadheat.stats.usl import fit_scaling
from tests.stats.races import binomial_limit

WORKERS = np.array([1.0, 2, 4, 8, 12, 16, 24, 32])


def usl(workers: Floats, rate_of_one: float, sigma: float, kappa: float) -> Floats:
    return rate_of_one * workers / (1 + sigma * (workers - 1) + kappa * workers * (workers - 1))


def measured(sigma: float, kappa: float, blocks: int = 12, seed: int = 81) -> Floats:
    generator = np.random.default_rng(seed)
    noise = generator.standard_normal((blocks, len(WORKERS))) * 0.05
    return usl(WORKERS, 1000, sigma, kappa) * np.exp(noise)


def test_recovers_parameters_of_exact_rates() -> None:
    fit = fit_scaling(WORKERS, usl(WORKERS, 1000, 0.08, 0.002)[None])
    assert fit.rate_of_one.value == pytest.approx(1000)
    assert fit.contention.value == pytest.approx(0.08)
    assert fit.coherency.value == pytest.approx(0.002)
    assert fit.peak_workers.value == pytest.approx(math.sqrt(0.92 / 0.002))
    assert fit.rate(16) == pytest.approx(usl(np.array([16.0]), 1000, 0.08, 0.002)[0])
    assert math.isnan(fit.contention.low)
    assert not fit.provisional


def test_fit_matches_bounded_least_squares_of_scipy() -> None:
    for sigma, kappa in ((0.05, 0.001), (0.0, 0.003), (0.3, 0.0)):
        rates = measured(sigma, kappa)
        means = np.exp(np.log(rates).mean(axis=0))

        def relative_error(parameters: Floats, means: Floats = means) -> Floats:
            return means / usl(WORKERS, *parameters) - 1

        bounds = ([0, 0, 0], [np.inf, 1, np.inf])
        oracle = optimize.least_squares(
            relative_error, [900, 0.1, 0.01], bounds=bounds, x_scale=[1000, 0.1, 0.01], ftol=1e-14
        )
        fit = fit_scaling(WORKERS, rates, resamples=20)
        parameters = [fit.rate_of_one.value, fit.contention.value, fit.coherency.value]
        assert parameters == pytest.approx(oracle.x, rel=1e-3, abs=1e-5)


def test_linear_scaling_has_no_peak() -> None:
    fit = fit_scaling(WORKERS, usl(WORKERS, 50, 0.0, 0.0)[None])
    assert fit.contention.value == pytest.approx(0, abs=1e-9)
    assert not fit.has_peak


@pytest.mark.parametrize("sigma", [0.0, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("levels", [(1, 2, 4), (1, 2, 3, 5), (2, 3, 7, 11, 13, 64)])
@pytest.mark.parametrize("rate_of_one", [1000.0, 1234.5, 1 / 3])
def test_coherency_from_rounding_is_zero(
    sigma: float, levels: tuple[float, ...], rate_of_one: float
) -> None:
    """Rounding depends on the processor; 1e-16 once gave a peak at 41 million workers."""
    rates = usl(np.array(levels, dtype=float), rate_of_one, sigma, 0.0)
    for jitter in range(20):
        last_bit = 1 + np.random.default_rng(jitter).integers(-2, 3, len(rates)) * 2.0**-52
        fit = fit_scaling(levels, (rates * last_bit)[None])
        assert fit.coherency.value == 0
        assert fit.contention.value == pytest.approx(sigma, abs=1e-9)
        assert not fit.has_peak


def test_coherency_that_may_be_zero_has_no_peak_beyond_the_range() -> None:
    fits = [
        fit_scaling(WORKERS, measured(0.05, 1e-4, seed=seed), resamples=200) for seed in range(20)
    ]
    unclear = [fit for fit in fits if fit.coherency.value > 0 and not fit.coherency.above_zero]
    assert unclear
    assert all(not fit.has_peak or fit.peak_workers.value <= 32 for fit in unclear)
    assert all(fit.peak_workers.low <= fit.reach == 64 for fit in fits)


def test_peak_is_extrapolated_to_at_most_twice_the_range() -> None:
    near, far = (
        fit_scaling(levels, np.repeat(usl(levels, 1000, 0.05, 0.002)[None], 5, axis=0))
        for levels in (WORKERS[:6], WORKERS[:4])
    )
    assert near.peak_workers.value == pytest.approx(math.sqrt(0.95 / 0.002))
    assert far.coherency.above_zero
    assert not far.has_peak
    assert (far.peak_workers.low, far.peak_workers.high) == (16, math.inf)


def test_no_peak_is_extrapolated_without_an_interval() -> None:
    levels = WORKERS[:6]
    rates = usl(levels, 1000, 0.05, 0.002)[None]
    assert not fit_scaling(levels, rates).has_peak
    assert fit_scaling(WORKERS, usl(WORKERS, 1000, 0.05, 0.002)[None]).has_peak


def test_speedup_limit_is_not_extrapolated() -> None:
    clear, slight = (fit_scaling([1, 2, 4], [law]) for law in ([1.0, 1.5, 2.0], [1.0, 1.9, 3.5]))
    assert clear.speedup_limit == pytest.approx(3)
    assert slight.speedup_limit == math.inf


def test_server_without_scaling_has_contention_one() -> None:
    fit = fit_scaling([1, 2, 4], [[100.0, 100.0, 100.0]])
    assert fit.contention.value == pytest.approx(1)
    assert fit.provisional


def test_intervals_cover_the_true_parameters() -> None:
    """A percentile bootstrap over 12 blocks covers slightly less: 90 % instead of 95 %."""
    missed = np.zeros(3)
    for seed in range(60):
        fit = fit_scaling(WORKERS, measured(0.08, 0.002, seed=seed), resamples=100)
        for k, (estimate, truth) in enumerate(
            ((fit.rate_of_one, 1000), (fit.contention, 0.08), (fit.coherency, 0.002))
        ):
            missed[k] += not estimate.low <= truth <= estimate.high
    assert np.all(missed / 60 <= binomial_limit(0.10, 60))


def test_fit_is_deterministic() -> None:
    assert fit_scaling(WORKERS, measured(0.08, 0.002)) == fit_scaling(
        WORKERS, measured(0.08, 0.002)
    )


def test_rejects_two_levels() -> None:
    with pytest.raises(ValueError, match="3 levels"):
        fit_scaling([1, 2, 2], [[100.0, 190.0, 190.0]])


def test_rejects_level_without_a_trial() -> None:
    with pytest.raises(ValueError, match="no valid trial"):
        fit_scaling([1, 2, 4], [[100.0, np.nan, 300.0]])


def test_rejects_rates_that_do_not_match_the_levels() -> None:
    with pytest.raises(ValueError, match="one column"):
        fit_scaling([1, 2, 4], [[100.0, 190.0]])
