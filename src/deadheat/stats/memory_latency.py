"""The memory latency at each slice: how much other guests use the cache and the memory.

Servers respond to that differently, and a contender's instances that ran at different times would
seem to differ.
"""

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import Indices

# Readings on either side. A single one varies by as much as the latency itself, which lasts longer.
_REACH = 4


def usual_range_ns(latency_ns: Floats, segment: Indices) -> tuple[float, float] | None:
    """The 5th and 95th percentile over the slices, smoothed as below; None without a reading."""
    known = latency_ns[np.isfinite(latency_ns)]
    if not len(known):
        return None
    mean_ns = np.exp(np.log(known).mean())
    low, high = mean_ns * np.exp(np.quantile(log_memory_latency(latency_ns, segment), [0.05, 0.95]))
    return float(low), float(high)


def log_memory_latency(latency_ns: Floats, segment: Indices) -> Floats:
    """The log of the latency less its mean over the race, for slices sorted by segment and time.

    It is the median over the slices around each in its segment, so what one server leaves in the
    caches hardly counts. 0 where nothing was read around a slice.
    """
    count = len(latency_ns)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.pad(np.log(latency_ns), _REACH, constant_values=np.nan)
    where = np.pad(segment, _REACH, constant_values=-1)
    near = np.full((count, 2 * _REACH + 1), np.nan)
    for column in range(2 * _REACH + 1):
        place = slice(column, column + count)
        near[:, column] = np.where(where[place] == segment, values[place], np.nan)
    known = np.isfinite(near).any(axis=1)
    smooth = np.zeros(count)
    if known.any():
        medians = np.nanmedian(near[known], axis=1)
        smooth[known] = medians - medians.mean()
    return smooth
