"""The hierarchical paired fit: what it estimates, and that its intervals cover."""

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.pairs import fit_pairs
from tests.stats.races import MACHINES, Noise, binomial_limit


def test_a_balanced_ratio_is_that_of_the_geometric_means() -> None:
    rates = Noise(start_sd=0.02).rates(np.random.default_rng(1), [0.0, 0.1, 0.5])
    fits = fit_pairs(rates)
    means = np.log(rates).mean(axis=(0, 1))
    assert fits.log_ratio[1, 0] == pytest.approx(means[1] - means[0])
    assert fits.log_ratio[0, 1] == pytest.approx(-fits.log_ratio[1, 0])
    assert fits.blocks[0, 1] == 36
    assert fits.invocations[0, 1] == 3


def test_two_contenders_alone_get_no_more_than_the_t_interval_of_their_starts() -> None:
    rates = Noise(start_sd=0.1).rates(np.random.default_rng(2), [0.0, 0.0], blocks=40)
    fits = fit_pairs(rates)
    means = np.diff(np.log(rates), axis=2)[:, :, 0].mean(axis=1)
    plain = stats.t.interval(0.95, 2, means.mean(), stats.sem(means))
    assert fits.half_width(0.05)[0, 1] == pytest.approx((plain[1] - plain[0]) / 2, rel=0.05)


def test_what_the_machine_does_to_all_cancels() -> None:
    rates = Noise(start_sd=0.01).rates(np.random.default_rng(3), [0.0, 0.2, 0.3])
    machine = np.exp(np.random.default_rng(4).standard_normal((3, 12, 1)))
    quiet, drifting = fit_pairs(rates), fit_pairs(rates * machine)
    assert drifting.log_ratio[0] == pytest.approx(quiet.log_ratio[0], nan_ok=True)
    assert drifting.half_width(0.05)[0] == pytest.approx(quiet.half_width(0.05)[0], nan_ok=True)


def test_a_pair_uses_only_the_blocks_it_shares() -> None:
    rates = Noise().rates(np.random.default_rng(5), [0.0, 0.0, 0.0])
    rates[0, :4, 1] = np.nan
    rates[2, 3:5, 2] = np.nan
    fits = fit_pairs(rates)
    assert [fits.blocks[0, 1], fits.blocks[0, 2], fits.blocks[1, 2]] == [32, 34, 30]


def test_invocations_of_unequal_length_weigh_by_what_they_tell() -> None:
    """With starts that scatter far more than slices, each start counts alike."""
    rates = Noise(slice_sd=0.01, start_sd=0.2).rates(np.random.default_rng(6), [0.0] * 4, blocks=20)
    rates[2, 5:] = np.nan
    each = np.diff(np.nanmean(np.log(rates), axis=1)[:, :2], axis=1)
    assert fit_pairs(rates).log_ratio[1, 0] == pytest.approx(each.mean(), abs=0.005)


def test_starts_that_scatter_more_than_the_pool_are_believed() -> None:
    """No standard error is below what the pair's own three starts say."""
    noise = Noise(slice_sd=0.02, start_sd=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0))
    rates = noise.rates(np.random.default_rng(13), [0.0] * 6)
    means = np.log(rates).mean(axis=1)
    own = stats.sem(means[:, :, None] - means[:, None, :], axis=0)
    upper = np.triu_indices(6, k=1)
    assert np.all(fit_pairs(rates).standard_error[upper] >= own[upper] * 0.999)


def test_contenders_that_never_met_have_no_interval() -> None:
    rates = Noise().rates(np.random.default_rng(7), [0.0, 0.0, 0.0])
    rates[:, ::2, 0] = np.nan
    rates[:, 1::2, 1] = np.nan
    fits = fit_pairs(rates)
    assert np.isnan(fits.log_ratio[0, 1])
    assert np.isnan(fits.half_width(0.05)[0, 1])
    assert np.isfinite(fits.half_width(0.05)[0, 2])


def test_one_invocation_has_no_interval_unless_it_is_asked_for() -> None:
    rates = Noise().rates(np.random.default_rng(8), [0.0, 0.5], invocations=1)
    assert np.isnan(fit_pairs(rates).half_width(0.05)[0, 1])
    asked = fit_pairs(rates, fewest_invocations=1)
    assert asked.half_width(0.05)[0, 1] < 0.2
    assert asked.degrees_of_freedom[0, 1] == pytest.approx(11)


def test_two_blocks_in_each_of_two_invocations_are_too_few_for_two_contenders() -> None:
    rates = Noise().rates(np.random.default_rng(9), [0.0, 0.5], invocations=2, blocks=2)
    assert np.isnan(fit_pairs(rates).half_width(0.05)[0, 1])


def test_rates_without_any_noise_are_exact() -> None:
    rates = np.broadcast_to([100.0, 200.0, 200.0], (3, 4, 3))
    fits = fit_pairs(rates)
    assert fits.log_ratio[1, 0] == pytest.approx(np.log(2))
    assert fits.half_width(0.05)[1, 0] == 0
    assert fits.probability_faster()[1, 0] == 1
    assert fits.probability_faster()[1, 2] == 0.5


@pytest.mark.parametrize("rate", [0.0, -1.0, np.inf])
def test_a_rate_is_positive(rate: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        fit_pairs([[[1.0, rate]]])


def test_rates_have_three_axes() -> None:
    with pytest.raises(ValueError, match="invocation, block, contender"):
        fit_pairs([[1.0, 2.0]])


@pytest.mark.parametrize("blocks", [4, 16])
@pytest.mark.parametrize("machine", MACHINES)
def test_intervals_cover_the_true_ratio(machine: str, blocks: int) -> None:
    """Pairs of one race are dependent, so each of the three is counted for itself."""
    generator = np.random.default_rng(len(machine) * blocks)
    truth = np.linspace(0, 0.7, 8)
    races, missed = 300, np.zeros(3)
    for _ in range(races):
        fits = fit_pairs(MACHINES[machine].rates(generator, truth.tolist(), 3, blocks))
        pairs = ([0, 4, 2], [1, 7, 6])
        error = fits.log_ratio[pairs] - (truth[pairs[0]] - truth[pairs[1]])
        missed += np.abs(error) > fits.half_width(0.05)[pairs]
    assert np.all(missed / races <= binomial_limit(0.05, races))


@pytest.mark.parametrize("machine", ["quiet", "starts differ"])
def test_intervals_are_no_wider_than_twice_what_known_variances_would_give(machine: str) -> None:
    generator = np.random.default_rng(11)
    noise = MACHINES[machine]
    widths = [
        fit_pairs(noise.rates(generator, [0.0] * 8)).half_width(0.05)[0, 1] for _ in range(200)
    ]
    slice_sd, start_sd = np.asarray(noise.slice_sd), np.asarray(noise.start_sd)
    known = 1.96 * np.sqrt(2 * (start_sd**2 + slice_sd**2 / 12) / 3)
    assert known < np.median(widths) < 2 * known


def test_probability_faster_is_uniform_for_equals() -> None:
    """As the confidence distribution of 0 should be: its extremes come as often as they say."""
    generator = np.random.default_rng(12)
    noise = Noise(start_sd=0.01)
    values = [
        fit_pairs(noise.rates(generator, [0.0] * 6)).probability_faster()[0, 1] for _ in range(500)
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=0.05)
    assert np.mean(np.array(values) < 0.05) <= binomial_limit(0.05, 500)
    assert np.mean(np.array(values) > 0.95) <= binomial_limit(0.05, 500)
