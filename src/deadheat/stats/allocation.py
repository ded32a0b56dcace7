"""How many blocks an invocation is worth before a fresh one is."""

import math


def blocks_per_invocation(
    start_cost_s: float, block_cost_s: float, start_variance: float, slice_variance: float
) -> int:
    """Blocks in each invocation for the narrowest interval in a given time, at least 1.

    `start_cost_s` is the time to start and warm up all contenders once. Kalibera & Jones
    (2013): n = ceil(sqrt(start_cost / block_cost * slice_variance / start_variance)).
    ValueError where the starts show no variance: then no number is too large.
    """
    if start_variance <= 0:
        raise ValueError("no start-to-start variance: one invocation is as good as many")
    return max(
        1, math.ceil(math.sqrt(start_cost_s / block_cost_s * slice_variance / start_variance))
    )
