"""Weights that follow from the neighbors in time, never from the slice itself."""

import numpy as np
import pytest

from deadheat.stats.distributions import Floats
from deadheat.stats.neighbor_weights import neighbor_weights
from deadheat.stats.slice_layout import Layout
from deadheat.stats.slice_weights import FirstLook, first_look
from tests.stats.paused_races import Pauses, paused_race
from tests.stats.slice_races import Schedule
from tests.stats.test_machine_state import small_race


@pytest.fixture
def layout() -> Layout:
    return Layout.of(small_race(blocks=1, rounds=10, contenders=6))


def look(layout: Layout, residuals: Floats) -> FirstLook:
    """Beside a machine whose state hardly moves, log rates of unit deviation are residuals."""
    nothing = np.zeros(len(layout))
    return FirstLook(residuals, nothing, nothing, np.ones(layout.contenders), 1e-6)


def test_calm_slices_weigh_one(layout: Layout) -> None:
    assert np.all(neighbor_weights(layout, look(layout, np.ones(len(layout)))) == 1)


def test_a_disturbance_of_several_contenders_weighs_down_all_of_them(layout: Layout) -> None:
    residuals = np.zeros(len(layout))
    residuals[20:26] = -6.0
    weights = neighbor_weights(layout, look(layout, residuals))
    assert np.all(weights[21:25] < 0.2)
    assert np.all(weights[:14] == 1)
    assert np.all(weights[34:] == 1)


def test_a_pause_of_one_contender_weighs_down_nothing(layout: Layout) -> None:
    residuals = np.zeros(len(layout))
    residuals[20] = -30.0
    assert np.all(neighbor_weights(layout, look(layout, residuals)) == 1)


def test_the_weight_of_a_slice_does_not_depend_on_its_own_rate(layout: Layout) -> None:
    residuals = 2 * np.random.default_rng(5).standard_normal(len(layout))
    before = neighbor_weights(layout, look(layout, residuals))
    for place in range(0, len(layout), 7):
        changed = residuals.copy()
        changed[place] = -50.0
        assert neighbor_weights(layout, look(layout, changed))[place] == before[place]


def test_a_pause_does_not_weigh_down_its_own_slice() -> None:
    """Bug: the state took up a part of the pause, so its neighbors looked disturbed.

    A pause of a second then hardly counted, and the rate was 8 % too high.
    """
    pauses = (Pauses(1.0, 116_800), *[Pauses()] * 3)
    layout = Layout.of(paused_race(np.random.default_rng(6), pauses, Schedule(400, 4)))
    first = first_look(layout)
    paused = (layout.contender == 0) & (first.around < -1)
    assert paused.sum() > 2
    assert neighbor_weights(layout, first)[paused].mean() > 0.9
