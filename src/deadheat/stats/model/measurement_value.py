"""What more time would buy: another instance, or more slices of those that run?

The variance of a contender's effect is instance_variance / instances + slice_variance / slices.
More slices shrink the second part alone. A fresh instance shrinks both, and adds degrees of
freedom: with few instances, the quantile of t is most of an interval's width. So what counts is
the squared half width, t^2 x variance, that a second takes away.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from deadheat.stats.distributions import t_critical
from deadheat.stats.model.slice_model import ModelFit

_FEWEST_SLICES = 10  # of a fresh instance
_MOST_SLICES = 400
_MORE_SLICES = 0.1  # of those measured: what `SLICES` is judged by


class Action(StrEnum):
    """How to spend time on a contender."""

    INSTANCE = "instance"
    SLICES = "slices"


@dataclass(frozen=True)
class Cost:
    """Seconds that one instance (start, verification, warm-up) and one slice of it take."""

    instance_s: float
    slice_s: float


@dataclass(frozen=True)
class Contribution:
    """How to shrink the interval of one contender.

    `gain_per_s` is what a second of the better `action` takes away from the squared half width of a
    pair of two such contenders.
    """

    action: Action
    gain_per_s: float


@dataclass(frozen=True)
class _State:
    """What is measured of a contender, and the variances that were estimated from it.

    `t` is the quantile of a pair of two such contenders, `t_then` with another instance of each.
    """

    instance_variance: float
    slice_variance: float
    instances: int
    slices: int
    t: float
    t_then: float

    def square(self, more_slices: int = 0) -> float:
        """The squared half width of a pair of two such contenders, after more slices."""
        return self._square(self.t, self.instances, self.slices + more_slices)

    def square_then(self, more_slices: int) -> float:
        """The same after another instance with that many slices."""
        return self._square(self.t_then, self.instances + 1, self.slices + more_slices)

    def _square(self, t: float, instances: int, slices: int) -> float:
        return 2 * t**2 * (self.instance_variance / instances + self.slice_variance / slices)


def contributions(
    fit: ModelFit, costs: Mapping[int, Cost], alpha: float
) -> dict[int, Contribution]:
    """For each of these contenders, what a second of the better action is worth.

    `costs` has the contenders by their place in the fit. `alpha` is the two-sided error of a pair.
    Degrees of freedom grow as a contender's own, which are its instances less one.
    """
    places = list(costs)
    instances = np.asarray(fit.instances)[places]
    own = np.maximum(instances - 1, 1)
    degrees = 2 * np.asarray(fit.estimate.contender_degrees, dtype=float)[places]
    t, t_then = t_critical(alpha / 2, np.stack([degrees, degrees * (own + 1) / own]))
    return {
        place: _contribution(
            _State(
                instance_variance=float(fit.estimate.instance_variance[place]),
                slice_variance=float(fit.estimate.slice_variance[place]),
                instances=int(fit.instances[place]),
                slices=int(fit.slices[place]),
                t=float(t[row]),
                t_then=float(t_then[row]),
            ),
            costs[place],
        )
        for row, place in enumerate(places)
    }


def _contribution(state: _State, cost: Cost) -> Contribution:
    gains = {
        Action.SLICES: _gain_of_slices(state, cost),
        Action.INSTANCE: _gain_of_instance(state, cost),
    }
    action = max(gains, key=lambda each: gains[each])
    return Contribution(action, gains[action])


def _gain_of_slices(state: _State, cost: Cost) -> float:
    slices = math.ceil(_MORE_SLICES * state.slices)
    return (state.square() - state.square(slices)) / (slices * cost.slice_s)


def _gain_of_instance(state: _State, cost: Cost) -> float:
    """With as many slices as pay best, or with few, if degrees of freedom are what is missing."""
    return max(
        (state.square() - state.square_then(slices)) / (cost.instance_s + slices * cost.slice_s)
        for slices in (_FEWEST_SLICES, _slices_of_instance(state, cost))
    )


def _slices_of_instance(state: _State, cost: Cost) -> int:
    """The slices of a fresh instance that lower the variance most per second.

    sqrt(slice_variance / instance_variance x seconds per instance / seconds per slice): the number
    of two-stage sampling (Cochran, Sampling Techniques, 1977, section 10.6; Kalibera & Jones 2013
    for invocations of programs).
    """
    if state.instance_variance <= 0:
        return _MOST_SLICES
    ratio = state.slice_variance / state.instance_variance
    best = math.sqrt(ratio * cost.instance_s / cost.slice_s)
    return int(min(max(math.ceil(best), _FEWEST_SLICES), _MOST_SLICES))
