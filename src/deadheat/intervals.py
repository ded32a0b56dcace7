"""Which intervals of ratios say something."""

import math

UNKNOWN_FACTOR = 30.0  # high / low of an interval above which it counts as unknown


def is_known(low: float, high: float) -> bool:
    """Whether the interval of a ratio is narrow enough to say something."""
    return math.isfinite(high) and high <= UNKNOWN_FACTOR * low
