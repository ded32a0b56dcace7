"""Races in heats: contenders without a shared block, compared through the reference."""

import numpy as np
import pytest

from deadheat.stats.distributions import Floats
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import fill_indirect, fit_pairs
from deadheat.stats.ranking.ranks import rank
from tests.stats.races import Noise, binomial_limit

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
