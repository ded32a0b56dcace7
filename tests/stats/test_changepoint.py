from itertools import combinations

import numpy as np
import pytest

from deadheat.stats.changepoint import change_points, noise


def series(*levels: tuple[int, float], sd: float = 0.03, seed: int = 61) -> np.ndarray:
    """Rates by window: stretches of (windows, level) with relative noise."""
    generator = np.random.default_rng(seed)
    return np.concatenate(
        [level * (1 + sd * generator.standard_normal(windows)) for windows, level in levels]
    )


def test_finds_known_changes() -> None:
    assert change_points(series((20, 800), (30, 1000), (25, 900))) == (20, 50)


def test_finds_changes_in_nine_of_ten_series() -> None:
    changes = [change_points(series((25, 900), (35, 1000), seed=seed)) for seed in range(100)]
    near = [len(points) == 1 and abs(points[0] - 25) <= 1 for points in changes]
    assert np.mean(near) >= 0.9


@pytest.mark.parametrize("windows", [20, 60, 200])
def test_rarely_finds_changes_in_one_level(windows: int) -> None:
    generator = np.random.default_rng(62)
    alarms = [bool(change_points(generator.standard_normal(windows))) for _ in range(200)]
    assert np.mean(alarms) <= 0.1


def test_rarely_finds_changes_in_heavy_tails() -> None:
    generator = np.random.default_rng(63)
    alarms = [bool(change_points(generator.standard_t(3, 60))) for _ in range(200)]
    assert np.mean(alarms) <= 0.1


def test_one_stall_is_not_a_level() -> None:
    stalled = series((60, 1000))
    stalled[30] = 0
    assert change_points(stalled) == ()


def test_finds_changes_without_noise() -> None:
    assert change_points([5.0] * 30) == ()
    assert change_points([5.0] * 10 + [6.0] * 10) == (10,)


def test_rounding_is_no_change_of_level() -> None:
    """In units of a noise of 1e-9, the rounding of the squares was worth more than a change."""
    assert change_points([1000 / 3] * 20 + [1000 / 7] * 20) == (20,)


def test_short_series_has_no_change() -> None:
    assert change_points([1.0, 2.0, 9.0, 9.0, 9.0]) == ()


def test_finds_the_cheapest_segmentation() -> None:
    """Compares with all segmentations of short series, in units of the noise."""
    generator = np.random.default_rng(64)
    for step in (0.0, 1.0, 3.0):
        values = generator.uniform(-1, 1, 12) + step * (np.arange(12) >= 7)
        cheapest = min(
            (cost(values, cuts), cuts)
            for changes in range(4)
            for cuts in combinations(range(3, 10), changes)
            if min(np.diff((0, *cuts, 12))) >= 3
        )
        assert change_points(values) == cheapest[1]


def cost(values: np.ndarray, cuts: tuple[int, ...]) -> float:
    deviations = [part - part.mean() for part in np.split(values / noise(values), cuts)]
    return float((np.concatenate(deviations) ** 2).sum() + 3 * np.log(12) * len(cuts))


def test_noise_ignores_level_changes() -> None:
    assert noise(series((100, 1000), (100, 2000), sd=0.01)) == pytest.approx(15, rel=0.4)


def test_rejects_series_with_nan() -> None:
    with pytest.raises(ValueError, match="finite"):
        change_points([1.0, np.nan])
