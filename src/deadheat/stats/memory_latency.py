"""The memory latency during a race: how much others use the shared cache and the memory.

The model has no response of contenders to it. In ten races with copies of two servers, such a
response made the estimated differences of the copies larger, and intervals no narrower.
"""

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import Indices

# Readings on either side. A single one varies by as much as the latency itself, which lasts longer.
_REACH = 4


def usual_range_ns(latency_ns: Floats, segment: Indices) -> tuple[float, float] | None:
    """The 5th and 95th percentile over slices sorted by segment and time; None without a reading.

    A reading is the median over the slices around it in its segment.
    """
    smooth = _smooth(latency_ns, segment)
    known = smooth[np.isfinite(smooth)]
    if not len(known):
        return None
    low, high = np.quantile(known, [0.05, 0.95])
    return float(low), float(high)


def _smooth(latency_ns: Floats, segment: Indices) -> Floats:
    """NaN where nothing was read around a slice."""
    count = len(latency_ns)
    values = np.pad(latency_ns, _REACH, constant_values=np.nan)
    where = np.pad(segment, _REACH, constant_values=-1)
    near = np.full((count, 2 * _REACH + 1), np.nan)
    for column in range(2 * _REACH + 1):
        place = slice(column, column + count)
        near[:, column] = np.where(where[place] == segment, values[place], np.nan)
    smooth = np.full(count, np.nan)
    known = np.isfinite(near).any(axis=1)
    smooth[known] = np.nanmedian(near[known], axis=1)
    return smooth
