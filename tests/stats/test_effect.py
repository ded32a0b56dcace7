import math

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.ranking.pairs import (
    detectable_ratio,
    fit_pairs,
    minimum_detectable_effect,
    power,
)
from tests.stats.races import Noise


def test_detectable_ratio_matches_the_textbook() -> None:
    fits = fit_pairs(Noise().rates(np.random.default_rng(51), [0.0, 0.1, 0.3]))
    error, degrees = fits.standard_error[0, 1], fits.degrees_of_freedom[0, 1]
    reach = stats.t.ppf(0.975, degrees) + stats.t.ppf(0.8, degrees)
    assert detectable_ratio(fits, 0.05)[0, 1] == pytest.approx(math.expm1(reach * error))
    assert power(fits, math.exp(reach * error), 0.05)[0, 1] == pytest.approx(0.8)


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
