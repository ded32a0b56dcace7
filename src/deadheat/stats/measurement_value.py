"""What more time would buy: another instance, or more slices of those that run?

The variance of a contender's effect is instance_variance / instances + slice_variance / slices.
More slices shrink the second part alone. A fresh instance shrinks both, and adds degrees of
freedom: with few instances, the quantile of t is most of an interval's width. So what counts is
the squared half width, t^2 x variance, that a second takes away.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from deadheat.stats.distributions import t_critical
from deadheat.stats.slice_model import ModelFit

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
    """One contender's part of the variance of its log rate, and how to shrink it.

    `between` comes from its few instances, `within` from its few slices. `gain_per_s` is what a
    second of the better `action` takes away from the squared half width of a pair of two such
    contenders.
    """

    between: float
    within: float
    action: Action
    gain_per_s: float


@dataclass(frozen=True)
class _State:
    """What is measured of a contender, and the variances that were estimated from it."""

    instance_variance: float
    slice_variance: float
    degrees: float
    instances: int
    slices: int

    def square(self, alpha: float, more_instances: int = 0, more_slices: int = 0) -> float:
        """The squared half width of a pair of two such contenders, after more was measured.

        Degrees of freedom grow as the contender's own, which are its instances less one.
        """
        variance = self.instance_variance / (self.instances + more_instances)
        variance += self.slice_variance / (self.slices + more_slices)
        own = max(self.instances - 1, 1)
        degrees = self.degrees * (own + more_instances) / own
        return 2 * variance * float(t_critical(alpha / 2, 2 * degrees)) ** 2


def contribution(fit: ModelFit, contender: int, cost: Cost, alpha: float) -> Contribution:
    """How a contender's variance splits, and what a second of either action is worth.

    `alpha` is the two-sided error of a pair.
    """
    estimate = fit.robust
    state = _State(
        instance_variance=float(estimate.instance_variance[contender]),
        slice_variance=float(estimate.slice_variance[contender]),
        degrees=float(estimate.contender_degrees[contender]),
        instances=int(fit.instances[contender]),
        slices=int(fit.slices[contender]),
    )
    gains = {
        Action.SLICES: _gain_of_slices(state, cost, alpha),
        Action.INSTANCE: _gain_of_instance(state, cost, alpha),
    }
    action = max(gains, key=lambda each: gains[each])
    return Contribution(
        between=state.instance_variance / state.instances,
        within=state.slice_variance / state.slices,
        action=action,
        gain_per_s=gains[action],
    )


def _gain_of_slices(state: _State, cost: Cost, alpha: float) -> float:
    slices = math.ceil(_MORE_SLICES * state.slices)
    gain = state.square(alpha) - state.square(alpha, more_slices=slices)
    return gain / (slices * cost.slice_s)


def _gain_of_instance(state: _State, cost: Cost, alpha: float) -> float:
    """With as many slices as pay best, or with few, if degrees of freedom are what is missing."""
    return max(
        (state.square(alpha) - state.square(alpha, 1, slices))
        / (cost.instance_s + slices * cost.slice_s)
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
