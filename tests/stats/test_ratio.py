"""Ratio intervals, and the error that separated pairs leave to the others."""

import math

import numpy as np
import pytest

from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.pairs import PairFits, fit_pairs
from deadheat.stats.ranking.ratio import Ratios
from tests.stats.races import MACHINES, binomial_limit

PAIRS = np.triu_indices(8, k=1)


def fits(machine: str, seed: int, truth: list[float]) -> PairFits:
    return fit_pairs(MACHINES[machine].rates(np.random.default_rng(seed), truth, 3, 4))


def test_separated_pairs_leave_their_error_to_the_others() -> None:
    truth = [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    stepped = Ratios(fits("quiet", 1, truth), ErrorLevel(comparisons=28))
    assert stepped.separated[PAIRS].sum() >= 27
    assert stepped.alpha_left == pytest.approx(0.05 / (28 - stepped.separated[PAIRS].sum() or 1))
    assert stepped.half_width[0, 1] < stepped.fits.half_width(stepped.level.alpha)[0, 1]
    assert stepped.half_width[0, 7] == stepped.fits.half_width(stepped.level.alpha)[0, 7]


def test_equal_contenders_leave_no_error_to_others() -> None:
    stepped = Ratios(fits("quiet", 5, [0.0] * 8), ErrorLevel(comparisons=28))
    assert not stepped.separated.any()
    same = stepped.interval(2, 2)
    assert (same.low, same.ratio, same.high) == (1, 1, 1), "to itself"
    assert stepped.alpha_left == stepped.level.alpha


def test_interval_excludes_one_if_and_only_if_separated() -> None:
    """If a later step separated the pair, the interval ends at 1."""
    cut = 0
    for seed in range(20):
        stepped = Ratios(
            fits("combination", seed, np.linspace(0, 1.5, 8).tolist()), ErrorLevel(comparisons=28)
        )
        for a, b in zip(*PAIRS, strict=True):
            ratio, inverse = stepped.interval(int(a), int(b)), stepped.interval(int(b), int(a))
            assert (ratio.low >= 1 or ratio.high <= 1) == bool(stepped.separated[a, b])
            assert ratio.low == pytest.approx(1 / inverse.high)
            cut += 1.0 in (ratio.low, ratio.high)
    assert cut > 0


@pytest.mark.parametrize("machine", MACHINES)
def test_intervals_of_a_table_hold_jointly(machine: str) -> None:
    """Half of the contenders are equal, and get the error that the others leave."""
    truth = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5, 2.0])
    races, wrong = 60, 0
    for seed in range(races):
        stepped = Ratios(fits(machine, seed, truth.tolist()), ErrorLevel(comparisons=28))
        error = stepped.fits.log_ratio - (truth[:, None] - truth[None, :])
        beyond = np.abs(error) > stepped.half_width
        false = stepped.separated & (truth[:, None] == truth[None, :])
        wrong += bool((beyond | false)[PAIRS].any())
    assert wrong / races <= binomial_limit(0.05, races)


def test_contenders_without_a_shared_block_have_no_interval() -> None:
    rates = np.exp(np.random.default_rng(4).normal(0, 0.1, (2, 4, 2)))
    rates[0, :, 0], rates[1, :, 1] = np.nan, np.nan
    interval = Ratios(fit_pairs(rates), ErrorLevel()).interval(0, 1)
    assert math.isnan(interval.ratio)
    assert (interval.low, interval.high) == (0.0, math.inf)
