"""Where the hypervisor had put the CPUs at each slice, by the core-to-core latency around it.

Two virtual CPUs are at times on one cache, and at times on two: the latency between them is then
several times as long, and servers respond to that by 0 to 30 % of their rate. A placement is a
group of slices with nearly the same latency.
"""

import math
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import MIXED, Indices

_SAME = 1.5  # readings of one placement are within this factor of their median
_FEWEST = 0.02  # of all slices; a smaller group is disturbed readings
NOT_READ = (math.nan, math.nan)  # a latency before and after a slice
_MOST = 2  # placements that the model tells apart


@dataclass(frozen=True)
class Placements:
    """`of_slice` has a number for each slice: 0 for the placement with most slices, then 1.

    `MIXED` stands for a slice during which it changed, or whose readings belong to neither.
    `latency_ns` and `share` have one value for each placement: its median latency, NaN where none
    was read, and its share of all slices.
    """

    of_slice: Indices
    latency_ns: Floats
    share: Floats


def placements(before_ns: Floats, after_ns: Floats) -> Placements:
    """Group slices by the latencies before and after them; NaN stands for none.

    Without any reading, all slices are in one placement. The largest group is what is near the
    median; the next one is what is near the median of the others.
    """
    count = len(before_ns)
    latency = np.sqrt(before_ns * after_ns)
    known = np.isfinite(latency)
    if not known.any():
        return Placements(np.zeros(count, dtype=np.int64), np.array([math.nan]), np.ones(1))
    changed = np.maximum(before_ns, after_ns) > _SAME * np.minimum(before_ns, after_ns)
    left = known & ~changed
    groups = []
    while left.any():
        values = np.sort(latency[left])
        middle = float(values[(len(values) - 1) // 2])
        near = left & (latency <= _SAME * middle) & (latency >= middle / _SAME)
        left &= ~near
        if near.sum() >= _FEWEST * count:
            groups.append((near, middle))
    groups.sort(key=lambda group: -int(group[0].sum()))
    of_slice = np.full(count, MIXED)
    for number, (near, _) in enumerate(groups[:_MOST]):
        of_slice[near] = number
    if not groups:
        return Placements(of_slice, np.array([math.nan]), np.zeros(1))
    return Placements(
        of_slice,
        np.array([middle for _, middle in groups[:_MOST]]),
        np.array([near.sum() / count for near, _ in groups[:_MOST]]),
    )
