"""The range of the memory latency during a race."""

import numpy as np
import pytest

from deadheat.stats.memory_latency import usual_range_ns

BLOCK = np.arange(100) // 10


def test_the_range_leaves_out_what_is_rare_and_single_disturbed_readings() -> None:
    latency_ns = np.where(np.arange(100) < 50, 150.0, 200.0)
    latency_ns[[20, 70]] = 9000.0
    assert usual_range_ns(latency_ns, BLOCK) == pytest.approx((150, 200))


def test_readings_of_another_block_do_not_count() -> None:
    latency_ns = np.repeat([100.0, 300.0], 3)
    assert usual_range_ns(latency_ns, np.repeat([0, 1], 3)) == pytest.approx((100, 300))


def test_slices_without_a_reading_are_left_out() -> None:
    latency_ns = np.full(100, np.nan)
    assert usual_range_ns(latency_ns, BLOCK) is None
    latency_ns[35] = 150.0
    assert usual_range_ns(latency_ns, BLOCK) == pytest.approx((150, 150))
