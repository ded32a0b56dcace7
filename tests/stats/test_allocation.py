import numpy as np
import pytest

from deadheat.stats.allocation import blocks_per_invocation


def test_no_other_number_of_blocks_is_better() -> None:
    """The variance reached per second, over all numbers of blocks."""
    starts, slices, start_s, block_s = 0.0004, 0.0025, 40.0, 5.0
    n = np.arange(1, 200)
    cost_of_precision = (starts + slices / n) * (start_s + block_s * n)
    best = int(n[np.argmin(cost_of_precision)])
    assert abs(blocks_per_invocation(start_s, block_s, starts, slices) - best) <= 1


def test_quiet_starts_are_worth_no_fresh_invocation() -> None:
    with pytest.raises(ValueError, match="no start-to-start variance"):
        blocks_per_invocation(40, 5, 0.0, 0.0025)
