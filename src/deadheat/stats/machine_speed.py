"""Which slices were measured while the machine ran at its usual speed.

A rented machine may run at another speed for seconds: its CPUs talk to each other faster, or
another tenant takes a part of them. Some servers then gain or lose much, and others nothing, so
ratios differ from those at the usual speed. What the machine did is read from the other contenders:
a slice's own rate has no say in whether it counts.
"""

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import MIXED, Indices

_REACH = 6  # slices on either side
_FEWEST_NEIGHBORS = 4  # slices of other contenders within reach
_FEWEST_CONTENDERS = 3  # in a segment: what one server alone shows may be its own
_LEAST_CHANGE = 0.04  # of the log rate: less is noise
_DEVIATIONS = 3.5  # robust ones of the machine's speed: a machine that drifts has no usual speed
_TO_DEVIATION = 1.4826


def at_usual_speed(
    log_rate: Floats, contender: Indices, segment: Indices, placement: Indices
) -> npt.NDArray[np.bool_]:
    """Whether each slice counts, for slices sorted by segment and time; `segment` from 0.

    The speed at a slice is the median deviation of the other contenders' slices around it, each
    from the median of its contender in the same placement of the CPUs. A slice in none does not
    count.
    """
    usual: npt.NDArray[np.bool_] = placement != MIXED
    if not len(log_rate):
        return usual
    cell = contender * (int(placement.max()) + 2) + placement + 1
    speed = _speeds(_deviations(log_rate, cell), contender, segment)
    known = np.isfinite(speed)
    if not known.any():
        return usual
    away = np.abs(speed - np.median(speed[known]))
    reach = max(_LEAST_CHANGE, _DEVIATIONS * _TO_DEVIATION * float(np.median(away[known])))
    usual[known] &= away[known] <= reach
    return usual


def _deviations(log_rate: Floats, cell: Indices) -> Floats:
    """Log rates less the median of their cell."""
    around = np.empty(len(log_rate))
    order = np.argsort(cell, kind="stable")
    for own in np.split(order, np.cumsum(np.bincount(cell))[:-1]):
        if len(own):
            around[own] = log_rate[own] - np.median(log_rate[own])
    return around


def _speeds(around: Floats, contender: Indices, segment: Indices) -> Floats:
    """The machine's speed at each slice by the others; NaN where too few say."""
    count = len(around)
    values = np.pad(around, _REACH, constant_values=np.nan)
    who = np.pad(contender, _REACH, constant_values=-1)
    where = np.pad(segment, _REACH, constant_values=-1)
    near = np.full((count, 2 * _REACH), np.nan)
    for column, shift in enumerate((*range(_REACH), *range(_REACH + 1, 2 * _REACH + 1))):
        place = slice(shift, shift + count)
        other = (where[place] == segment) & (who[place] != contender)
        near[other, column] = values[place][other]
    near.sort(axis=1)  # those that are not known come last
    known = np.isfinite(near).sum(axis=1)
    cells = np.unique(segment * (int(contender.max()) + 1) + contender)
    several = np.bincount(cells // (int(contender.max()) + 1))[segment] >= _FEWEST_CONTENDERS
    enough = np.flatnonzero(several & (known >= _FEWEST_NEIGHBORS))
    speed = np.full(count, np.nan)
    middle = (known[enough] - 1) // 2, known[enough] // 2
    speed[enough] = (near[enough, middle[0]] + near[enough, middle[1]]) / 2
    return speed
