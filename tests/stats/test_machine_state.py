"""The machine's state, removed in closed form: against dense linear algebra."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg

from deadheat.stats.model.machine_state import equations, likely_intensity, state
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slices import SliceArrays

INTENSITY = 0.02


def small_race(seed: int = 1, blocks: int = 3, rounds: int = 4, contenders: int = 3) -> SliceArrays:
    generator = np.random.default_rng(seed)
    count = blocks * rounds * contenders
    contender = np.concatenate([generator.permutation(contenders) for _ in range(blocks * rounds)])
    rounds_of = np.repeat(np.arange(blocks * rounds), contenders)
    return SliceArrays(
        log_rate=generator.standard_normal(count),
        contender=contender,
        instance=contender + contenders * (rounds_of >= rounds),
        block=rounds_of // rounds,
        round=rounds_of,
        time_s=np.cumsum(generator.uniform(0.05, 0.1, count)),
        contenders=contenders,
    )


def walk_precision(time_s: np.ndarray) -> np.ndarray:
    steps = np.diff(np.eye(len(time_s)), axis=0)
    return steps.T @ np.diag(1 / (INTENSITY * np.diff(time_s))) @ steps


def test_equations_are_those_of_dense_least_squares() -> None:
    slices = small_race()
    layout = Layout.of(slices)
    weights = np.random.default_rng(2).uniform(100, 1000, len(layout))
    expected_information = np.zeros((6, 6))
    expected_score = np.zeros(6)
    for block in range(3):
        mine = layout.block == block
        w = np.diag(weights[mine])
        member = np.eye(6)[layout.instance[mine]]
        p = w + walk_precision(layout.time_s[mine])
        reduced = w - w @ linalg.solve(p, w, assume_a="pos")
        expected_information += member.T @ reduced @ member
        expected_score += member.T @ reduced @ layout.log_rate[mine]
    actual = equations(layout, layout.log_rate, weights, INTENSITY)
    assert actual.information @ np.eye(6) == pytest.approx(expected_information, abs=1e-8)
    assert actual.score == pytest.approx(expected_score, abs=1e-8)


def test_the_state_is_the_penalized_smoother() -> None:
    layout = Layout.of(small_race(blocks=1))
    weights = np.random.default_rng(3).uniform(100, 1000, len(layout))
    p = np.diag(weights) + walk_precision(layout.time_s)
    expected = linalg.solve(p, weights * layout.log_rate)
    assert state(layout, layout.log_rate, weights, INTENSITY) == pytest.approx(expected)


def test_a_level_of_each_block_leaves_no_trace_in_the_equations() -> None:
    slices = small_race()
    layout = Layout.of(slices)
    shifted = Layout.of(replace(slices, log_rate=slices.log_rate + 5.0 * slices.block))
    weights = np.full(len(layout), 400.0)
    score = equations(shifted, shifted.log_rate, weights, INTENSITY).score
    assert score == pytest.approx(
        equations(layout, layout.log_rate, weights, INTENSITY).score, abs=1e-6
    )


@pytest.mark.parametrize("relative", [0.003, 0.3])
def test_the_likely_intensity_is_near_the_true_one(relative: float) -> None:
    generator = np.random.default_rng(4)
    slices = small_race(blocks=40, rounds=8)
    intensity = relative * 0.03**2 / 0.075
    gaps = np.diff(slices.time_s, prepend=0.0)
    walk = np.cumsum(generator.standard_normal(len(slices)) * np.sqrt(intensity * gaps))
    noise = 0.03 * generator.standard_normal(len(slices))
    layout = Layout.of(replace(slices, log_rate=walk + noise))
    likely = likely_intensity(layout, layout.log_rate, np.full(len(layout), 0.03**-2))
    assert intensity / 4 < likely < intensity * 4


def test_a_long_block_is_cut_into_parts_without_losing_a_slice() -> None:
    slices = small_race(blocks=1, rounds=300)
    layout = Layout.of(slices)
    assert len(layout) == len(slices)
    assert layout.gap_s.shape[0] > 1
    assert layout.gap_s.shape[1] <= 400
    places = layout.row * layout.gap_s.shape[1] + layout.column
    assert len(np.unique(places)) == len(slices)
