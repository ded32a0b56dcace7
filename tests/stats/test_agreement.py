import math

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.agreement import compare, inversions, tau_b, tau_interval
from deadheat.stats.ranking.ranks import rank
from tests.stats.races import Noise, binomial_limit


def test_tau_b_matches_scipy_with_and_without_ties() -> None:
    generator = np.random.default_rng(71)
    for size, values in ((5, 100), (12, 4), (33, 9)):
        x, y = generator.integers(values, size=(2, size))
        assert tau_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)


def test_tau_b_of_a_constant_is_nan() -> None:
    assert math.isnan(tau_b([1, 1, 1], [1, 2, 3]))


def test_tau_b_rejects_different_lengths() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        tau_b([1, 2], [1, 2, 3])


@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("contenders", [8, 33])
def test_interval_covers_the_true_tau(correlation: float, contenders: int) -> None:
    """Bivariate normal, where tau is 2 / pi arcsin(correlation)."""
    generator = np.random.default_rng(72)
    truth = 2 / math.pi * math.asin(correlation)
    missed = 0
    for _ in range(500):
        x, z = generator.standard_normal((2, contenders))
        y = correlation * x + math.sqrt(1 - correlation**2) * z
        low, high = tau_interval(tau_b(x, y), contenders)
        missed += not low <= truth <= high
    assert missed / 500 <= binomial_limit(0.05, 500)


def test_four_contenders_give_the_widest_interval() -> None:
    assert tau_interval(1.0, 4) == (-1, 1)


def test_two_runs_of_one_race_agree() -> None:
    generator = np.random.default_rng(73)
    truth = [0.0, 0.0, -0.2, -0.4, -0.6, -0.61, -1.0, -1.5]
    noise = Noise(slice_sd=0.02, start_sd=0.01)
    first, second = (rank(noise.rates(generator, truth), "abcdefgh") for _ in range(2))
    agreement = compare(first, second)
    assert agreement.contenders == 8
    assert agreement.tau_b >= 0.85
    assert agreement.low < agreement.tau_b <= agreement.high
    assert agreement.tau_b_of_separated > 0.9
    assert agreement.inversions == ()


def test_contradicting_runs_have_an_inversion() -> None:
    generator = np.random.default_rng(74)
    noise = Noise(slice_sd=0.02)
    first = rank(noise.rates(generator, [0.0, -0.3, -0.6, -0.6]), "abcd")
    second = rank(noise.rates(generator, [0.0, -0.6, -0.3, -0.6]), "abcd")
    assert ("b", "c") in compare(first, second).inversions


def test_unseparated_pair_is_not_an_inversion() -> None:
    generator = np.random.default_rng(75)
    noise = Noise(slice_sd=0.02)
    first = rank(noise.rates(generator, [0.0, -0.3, -0.6, -0.9]), "abcd")
    second = rank(noise.rates(generator, [-0.6, -0.6, 0.0, -0.9]), "abcd")
    assert inversions("abcd", first, second) == (("a", "c"), ("b", "c"))
    assert compare(first, first).tau_b_of_separated == 1
