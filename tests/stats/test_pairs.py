"""The hierarchical paired fit: its estimates, the coverage of its intervals, and races in heats."""

import math

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.distributions import Floats
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import (
    detectable_ratio,
    fill_indirect,
    fit_pairs,
    minimum_detectable_effect,
)
from deadheat.stats.ranking.ranks import rank
from tests.stats.races import MACHINES, Noise, binomial_limit


def test_balanced_ratio_is_the_ratio_of_geometric_means() -> None:
    rates = Noise(start_sd=0.02).rates(np.random.default_rng(1), [0.0, 0.1, 0.5])
    fits = fit_pairs(rates)
    means = np.log(rates).mean(axis=(0, 1))
    assert fits.log_ratio[1, 0] == pytest.approx(means[1] - means[0])
    assert fits.log_ratio[0, 1] == pytest.approx(-fits.log_ratio[1, 0])
    assert fits.blocks[0, 1] == 36
    assert fits.invocations[0, 1] == 3


def test_two_contenders_get_the_t_interval_of_their_starts() -> None:
    rates = Noise(start_sd=0.1).rates(np.random.default_rng(2), [0.0, 0.0], blocks=40)
    fits = fit_pairs(rates)
    means = np.diff(np.log(rates), axis=2)[:, :, 0].mean(axis=1)
    plain = stats.t.interval(0.95, 2, means.mean(), stats.sem(means))
    assert fits.half_width(0.05)[0, 1] == pytest.approx((plain[1] - plain[0]) / 2, rel=0.05)


def test_common_machine_noise_cancels() -> None:
    rates = Noise(start_sd=0.01).rates(np.random.default_rng(3), [0.0, 0.2, 0.3])
    machine = np.exp(np.random.default_rng(4).standard_normal((3, 12, 1)))
    quiet, drifting = fit_pairs(rates), fit_pairs(rates * machine)
    assert drifting.log_ratio[0] == pytest.approx(quiet.log_ratio[0], nan_ok=True)
    assert drifting.half_width(0.05)[0] == pytest.approx(quiet.half_width(0.05)[0], nan_ok=True)


def test_pair_uses_only_shared_blocks() -> None:
    rates = Noise().rates(np.random.default_rng(5), [0.0, 0.0, 0.0])
    rates[0, :4, 1] = np.nan
    rates[2, 3:5, 2] = np.nan
    fits = fit_pairs(rates)
    assert [fits.blocks[0, 1], fits.blocks[0, 2], fits.blocks[1, 2]] == [32, 34, 30]


def test_unequal_invocations_are_weighted_by_information() -> None:
    """If starts scatter far more than slices, each start has the same weight."""
    rates = Noise(slice_sd=0.01, start_sd=0.2).rates(np.random.default_rng(6), [0.0] * 4, blocks=20)
    rates[2, 5:] = np.nan
    by_start = np.diff(np.nanmean(np.log(rates), axis=1)[:, :2], axis=1)
    assert fit_pairs(rates).log_ratio[1, 0] == pytest.approx(by_start.mean(), abs=0.005)


def test_own_scatter_above_the_pool_is_used() -> None:
    """No standard error is below that of the pair's own three starts."""
    noise = Noise(slice_sd=0.02, start_sd=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0))
    rates = noise.rates(np.random.default_rng(13), [0.0] * 6)
    means = np.log(rates).mean(axis=1)
    own = stats.sem(means[:, :, None] - means[:, None, :], axis=0)
    upper = np.triu_indices(6, k=1)
    assert np.all(fit_pairs(rates).standard_error[upper] >= own[upper] * 0.999)


def test_contenders_without_a_shared_block_have_no_interval() -> None:
    rates = Noise().rates(np.random.default_rng(7), [0.0, 0.0, 0.0])
    rates[:, ::2, 0] = np.nan
    rates[:, 1::2, 1] = np.nan
    fits = fit_pairs(rates)
    assert np.isnan(fits.log_ratio[0, 1])
    assert np.isnan(fits.half_width(0.05)[0, 1])
    assert np.isfinite(fits.half_width(0.05)[0, 2])


def test_one_invocation_has_no_interval() -> None:
    rates = Noise().rates(np.random.default_rng(8), [0.0, 0.5], invocations=1)
    assert np.isnan(fit_pairs(rates).half_width(0.05)[0, 1])


def test_two_invocations_of_two_blocks_are_too_few_for_two_contenders() -> None:
    rates = Noise().rates(np.random.default_rng(9), [0.0, 0.5], invocations=2, blocks=2)
    assert np.isnan(fit_pairs(rates).half_width(0.05)[0, 1])


def test_rates_without_noise_are_exact() -> None:
    rates = np.broadcast_to([100.0, 200.0, 200.0], (3, 4, 3))
    fits = fit_pairs(rates)
    assert fits.log_ratio[1, 0] == pytest.approx(np.log(2))
    assert fits.half_width(0.05)[1, 0] == 0
    assert fits.probability_faster()[1, 0] == 1
    assert fits.probability_faster()[1, 2] == 0.5


def test_rejects_rates_that_cannot_be() -> None:
    for rate in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="positive"):
            fit_pairs([[[1.0, rate]]])
    with pytest.raises(ValueError, match="invocation, block, contender"):
        fit_pairs([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("machine", "blocks"), [*((machine, 4) for machine in MACHINES), ("combination", 16)]
)
def test_intervals_cover_the_true_ratio(machine: str, blocks: int) -> None:
    """Pairs of one race are dependent, so each of the three is counted separately."""
    generator = np.random.default_rng(len(machine) * blocks)
    truth = np.linspace(0, 0.7, 8)
    races, missed = 100, np.zeros(3)
    for _ in range(races):
        fits = fit_pairs(MACHINES[machine].rates(generator, truth.tolist(), 3, blocks))
        pairs = ([0, 4, 2], [1, 7, 6])
        error = fits.log_ratio[pairs] - (truth[pairs[0]] - truth[pairs[1]])
        missed += np.abs(error) > fits.half_width(0.05)[pairs]
    assert np.all(missed / races <= binomial_limit(0.05, races))


@pytest.mark.parametrize("machine", ["quiet", "starts differ"])
def test_intervals_are_at_most_twice_those_with_known_variances(machine: str) -> None:
    generator = np.random.default_rng(11)
    noise = MACHINES[machine]
    widths = [
        fit_pairs(noise.rates(generator, [0.0] * 8)).half_width(0.05)[0, 1] for _ in range(60)
    ]
    slice_sd, start_sd = np.asarray(noise.slice_sd), np.asarray(noise.start_sd)
    known = 1.96 * np.sqrt(2 * (start_sd**2 + slice_sd**2 / 12) / 3)
    assert known < np.median(widths) < 2 * known


def test_probability_faster_is_uniform_for_equal_contenders() -> None:
    """For equal contenders, P(faster) is below 5 % in 5 % of races."""
    generator = np.random.default_rng(12)
    noise = Noise(start_sd=0.01)
    values = [
        fit_pairs(noise.rates(generator, [0.0] * 6)).probability_faster()[0, 1] for _ in range(200)
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=0.07)
    assert np.mean(np.array(values) < 0.05) <= binomial_limit(0.05, 200)
    assert np.mean(np.array(values) > 0.95) <= binomial_limit(0.05, 200)


def test_detectable_ratio_matches_the_textbook() -> None:
    fits = fit_pairs(Noise().rates(np.random.default_rng(51), [0.0, 0.1, 0.3]))
    error, degrees = fits.standard_error[0, 1], fits.degrees_of_freedom[0, 1]
    reach = stats.t.ppf(0.975, degrees) + stats.t.ppf(0.8, degrees)
    assert detectable_ratio(fits, 0.05)[0, 1] == pytest.approx(math.expm1(reach * error))


def test_detectable_difference_is_found_with_80_percent_power() -> None:
    generator = np.random.default_rng(52)
    noise = Noise(start_sd=0.01)
    sizes = [
        minimum_detectable_effect(fit_pairs(noise.rates(generator, [0.0] * 8)), 0.05)
        for _ in range(60)
    ]
    true = math.log1p(float(np.median(sizes)))
    detections = 0
    for _ in range(150):
        fits = fit_pairs(noise.rates(generator, [true] + [0.0] * 7))
        detections += fits.log_ratio[0, 1] > fits.half_width(0.05)[0, 1]
    assert detections / 150 == pytest.approx(0.8, abs=0.1)


def test_no_pair_gives_nan_and_a_power_below_a_half_is_rejected() -> None:
    assert math.isnan(minimum_detectable_effect(fit_pairs(np.ones((3, 4, 1))), 0.05))
    with pytest.raises(ValueError, match="power"):
        detectable_ratio(fit_pairs(np.ones((3, 4, 2))), 0.05, power=0.5)


TRUTH = [0.0, 0.3, 0.5, 0.8, 0.8, 1.2]
NAMES = ("reference", "a", "b", "c", "d", "e")


def two_heats(generator: np.random.Generator, noise: Noise) -> Floats:
    """Three invocations of (reference, a, b), then three of (reference, c, d, e)."""
    rates = noise.rates(generator, TRUTH, invocations=6)
    rates[:3, :, 3:] = np.nan
    rates[3:, :, 1:3] = np.nan
    return rates


def test_leaves_pairs_of_one_heat_unchanged() -> None:
    fits = fit_pairs(two_heats(np.random.default_rng(121), Noise()))
    filled = fill_indirect(fits)
    direct = ~filled.indirect
    assert np.argwhere(np.triu(~direct)).tolist() == [
        [1, 3],
        [1, 4],
        [1, 5],
        [2, 3],
        [2, 4],
        [2, 5],
    ]
    assert filled.log_ratio[direct] == pytest.approx(fits.log_ratio[direct], nan_ok=True)


def test_adds_both_ratios_through_the_third() -> None:
    fits = fill_indirect(fit_pairs(two_heats(np.random.default_rng(122), Noise())))
    assert fits.log_ratio[1, 3] == pytest.approx(fits.log_ratio[1, 0] + fits.log_ratio[0, 3])
    assert fits.log_ratio[3, 1] == pytest.approx(-fits.log_ratio[1, 3])
    assert fits.standard_error[1, 3] ** 2 == pytest.approx(
        fits.standard_error[0, 1] ** 2 + fits.standard_error[0, 3] ** 2
    )


def test_indirect_intervals_cover_the_true_ratio() -> None:
    generator = np.random.default_rng(123)
    noise = Noise(start_sd=0.02, drift=0.02)
    missed = 0
    for _ in range(150):
        fits = fill_indirect(fit_pairs(two_heats(generator, noise)))
        missed += abs(fits.log_ratio[2, 3] + 0.3) > fits.half_width(0.05)[2, 3]
    assert missed / 150 <= binomial_limit(0.05, 150)


def test_ranks_contenders_of_several_heats() -> None:
    rates = two_heats(np.random.default_rng(124), Noise(slice_sd=0.01))
    ranking = rank(rates, NAMES, controls=["reference"])
    assert ranking.rows[0].name == "e"
    assert {row.name for row in ranking.rows[1:3]} == {"c", "d"}
    assert [row.name for row in ranking.rows[3:]] == ["b", "a"]
    assert ranking.pair("b", "c").verdict is Verdict.SEPARATED
    assert "through a third contender" in ranking.pair("b", "c").ratio.method
    assert "through a third contender" not in ranking.pair("c", "d").ratio.method
