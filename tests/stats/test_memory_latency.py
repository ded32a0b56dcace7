"""The memory latency around slices, and what it changes in the model."""

from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.memory_latency import log_memory_latency, usual_range_ns
from deadheat.stats.slice_model import fit_slices
from deadheat.stats.slices import Slices
from tests.stats import slice_races
from tests.stats.slice_races import Field, Schedule

CONTENDERS = 6
COSTS = np.linspace(1.6, 0.4, CONTENDERS)


def test_without_a_reading_it_is_the_mean_everywhere() -> None:
    segment = np.repeat([0, 1], 10)
    assert not log_memory_latency(np.full(20, np.nan), segment).any()


def test_it_is_centered_and_one_disturbed_reading_hardly_counts() -> None:
    latency_ns = np.where(np.arange(40) < 20, 150.0, 200.0)
    latency_ns[10] = 5000.0
    log = log_memory_latency(latency_ns, np.repeat([0, 1], 20))
    assert log.mean() == pytest.approx(0.0, abs=1e-12)
    assert np.exp(log[30] - log[[5, 10]]) == pytest.approx([200 / 150] * 2)


def test_readings_of_another_block_do_not_count() -> None:
    latency_ns = np.array([100.0, 100.0, 100.0, 300.0, 300.0, 300.0])
    log = log_memory_latency(latency_ns, np.array([0, 0, 0, 1, 1, 1]))
    assert np.exp(log[3:] - log[:3]) == pytest.approx([3.0] * 3)


def test_a_slice_without_a_reading_has_those_beside_it() -> None:
    latency_ns = np.full(12, 100.0)
    latency_ns[6:] = 200.0
    latency_ns[[2, 9]] = np.nan
    log = log_memory_latency(latency_ns, np.repeat([0, 1], 6))
    assert np.exp(log[9] - log[2]) == pytest.approx(2.0)


def test_the_usual_range_leaves_out_what_is_rare() -> None:
    latency_ns = np.where(np.arange(100) < 50, 150.0, 200.0)
    latency_ns[70] = 9000.0
    block = np.arange(100) // 10
    assert usual_range_ns(latency_ns, block) == pytest.approx((150, 200), rel=0.05)
    assert usual_range_ns(np.full(3, np.nan), np.zeros(3, dtype=np.int64)) is None


def contended_race(seed: int) -> Slices:
    """Other guests use the memory for 25 s of each 50; servers lose differently by it."""
    generator = np.random.default_rng(seed)
    field = Field.copies(CONTENDERS, instance_sd=0.01)
    slices = slice_races.race(generator, field, Schedule(120, 4), slice_races.QUIET)
    memory = np.where(slices.time_s // 25 % 2 == 0, -0.1, 0.1)
    memory = memory - memory.mean()
    lost = COSTS[slices.contender] * memory
    return replace(slices.with_log_rates(slices.log_rate - lost), memory=memory)


def test_intervals_are_narrower_where_the_memory_latency_is_known() -> None:
    slices = contended_race(1)
    blind = replace(slices, memory=np.zeros(len(slices)))
    known, unknown = fit_slices(slices).robust, fit_slices(blind).robust
    pairs = np.triu_indices(CONTENDERS, 1)
    assert np.median(known.variance[pairs]) < 0.6 * np.median(unknown.variance[pairs])
    beside_others = known.memory_response - known.memory_response.mean()
    assert beside_others == pytest.approx(COSTS.mean() - COSTS, abs=0.2)
    assert np.isnan(unknown.memory_response).all()


def test_rates_are_those_at_the_mean_memory_latency() -> None:
    rates = fit_slices(contended_race(2)).robust.log_rate
    assert np.ptp(rates) < 0.06  # copies, but for what they lose


def test_both_placements_and_memory_latency_are_told_apart() -> None:
    slices = contended_race(3)
    gains = np.linspace(0.3, 0.0, CONTENDERS)
    placement = (slices.time_s // 15 % 2).astype(np.int64)
    moved = slices.with_log_rates(slices.log_rate + gains[slices.contender] * placement)
    fit = fit_slices(replace(moved, placement=placement)).robust
    assert fit.response - fit.response.mean() == pytest.approx(gains - gains.mean(), abs=0.03)
    beside_others = fit.memory_response - fit.memory_response.mean()
    assert beside_others == pytest.approx(COSTS.mean() - COSTS, abs=0.25)
