"""What more time would buy: another instance, or more slices of those that run?

The variance of a contender's effect is instance_variance / instances + slice_variance / slices.
More slices shrink the second part alone. A fresh instance shrinks both, and adds degrees of
freedom: with two or three instances, the quantile of t is most of an interval's width. So what
counts is the squared half width, t^2 x variance, that a second takes away. A fresh instance gets
the classic number of slices for two-stage sampling: sqrt(slice_variance / instance_variance x
seconds per instance / seconds per slice) (Cochran, Sampling Techniques, 1977, section 10.6;
Kalibera & Jones 2013 for invocations of programs).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from deadheat.stats.contender_effects import Estimate
from deadheat.stats.distributions import t_critical
from deadheat.stats.slice_model import ModelFit

_FEWEST_SLICES = 10  # of a fresh instance
_MOST_SLICES = 400
_MORE_SLICES = 0.1  # of those measured: one step of a plan
_MOST_STEPS = 300


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
    contenders. `slices_per_instance` is how many a fresh instance should get.
    """

    between: float
    within: float
    slices_per_instance: int
    action: Action
    gain_per_s: float


@dataclass(frozen=True)
class Plan:
    """What would decide a pair at its present difference; each pair of numbers is (first, second).

    `seconds` is infinite where no amount within reach would.
    """

    seconds: float
    extra_instances: tuple[int, int]
    extra_slices: tuple[int, int]


@dataclass(frozen=True)
class _Side:
    """One contender of a pair while a plan is made."""

    cost: Cost
    instance_variance: float
    slice_variance: float
    degrees: float
    instances: float
    slices: float
    extra_instances: int = 0
    extra_slices: int = 0

    @property
    def variance(self) -> float:
        return self.instance_variance / self.instances + self.slice_variance / self.slices

    @property
    def slices_per_instance(self) -> int:
        if self.instance_variance <= 0:
            return _MOST_SLICES
        ratio = self.slice_variance / self.instance_variance
        best = math.sqrt(ratio * self.cost.instance_s / self.cost.slice_s)
        return int(min(max(math.ceil(best), _FEWEST_SLICES), _MOST_SLICES))

    @property
    def step_slices(self) -> int:
        return math.ceil(_MORE_SLICES * self.slices)

    def seconds(self, action: Action) -> float:
        if action is Action.SLICES:
            return self.step_slices * self.cost.slice_s
        return self.cost.instance_s + self.slices_per_instance * self.cost.slice_s

    def after(self, action: Action) -> "_Side":
        """Degrees of freedom grow as the contender's own, which are its instances less one."""
        fresh = action is Action.INSTANCE
        slices = self.slices_per_instance if fresh else self.step_slices
        own = max(self.instances - 1, 1)
        return replace(
            self,
            instances=self.instances + fresh,
            degrees=self.degrees * (own + fresh) / own,
            extra_instances=self.extra_instances + fresh,
            slices=self.slices + slices,
            extra_slices=self.extra_slices + slices,
        )

    def square(self, alpha: float) -> float:
        """The squared half width of a pair of two such contenders."""
        return 2 * self.variance * float(t_critical(alpha / 2, 2 * self.degrees)) ** 2

    def gain_per_s(self, action: Action, alpha: float) -> float:
        return (self.square(alpha) - self.after(action).square(alpha)) / self.seconds(action)

    def action(self, alpha: float) -> Action:
        gains = {action: self.gain_per_s(action, alpha) for action in Action}
        is_fresh = gains[Action.INSTANCE] > gains[Action.SLICES]
        return Action.INSTANCE if is_fresh else Action.SLICES


def contribution(fit: ModelFit, contender: int, cost: Cost, alpha: float) -> Contribution:
    """How a contender's variance splits, and what a second of either action is worth.

    `alpha` is the two-sided error of a pair.
    """
    side = _side(fit, fit.robust, contender, cost)
    action = side.action(alpha)
    return Contribution(
        between=side.instance_variance / side.instances,
        within=side.slice_variance / side.slices,
        slices_per_instance=side.slices_per_instance,
        action=action,
        gain_per_s=side.gain_per_s(action, alpha),
    )


def plan(
    fit: ModelFit, first: int, second: int, costs: tuple[Cost, Cost], margin: float, alpha: float
) -> Plan | None:
    """The cheapest way found to decide a pair; None where it has no interval yet.

    Greedy: whichever action of either contender takes most away per second, until the half width
    at two-sided `alpha` is below the difference, or below what the difference leaves of the
    `margin`. Slices of one contender also need neighbors to be compared with, so a plan is a lower
    bound where it asks for slices of one alone.
    """
    estimate = fit.robust
    if not math.isfinite(float(estimate.degrees_of_freedom[first, second])):
        return None
    sides = [
        _side(fit, estimate, contender, cost)
        for contender, cost in zip((first, second), costs, strict=True)
    ]
    difference = abs(float(estimate.log_rate[first] - estimate.log_rate[second]))
    wanted = max(difference, math.log1p(margin) - difference)
    shared = max(float(estimate.variance[first, second]) - sides[0].variance - sides[1].variance, 0)
    seconds = 0.0
    for _ in range(_MOST_STEPS):
        if _half_width(sides, shared, alpha) < wanted:
            break
        place, action = max(
            ((place, side.action(alpha)) for place, side in enumerate(sides)),
            key=lambda step: sides[step[0]].gain_per_s(step[1], alpha),
        )
        seconds += sides[place].seconds(action)
        sides[place] = sides[place].after(action)
    else:
        seconds = math.inf
    return Plan(
        seconds=seconds,
        extra_instances=(sides[0].extra_instances, sides[1].extra_instances),
        extra_slices=(sides[0].extra_slices, sides[1].extra_slices),
    )


def _side(fit: ModelFit, estimate: Estimate, contender: int, cost: Cost) -> _Side:
    return _Side(
        cost=cost,
        instance_variance=float(estimate.instance_variance[contender]),
        slice_variance=float(estimate.slice_variance[contender]),
        degrees=float(estimate.contender_degrees[contender]),
        instances=float(fit.instances[contender]),
        slices=float(fit.slices[contender]),
    )


def _half_width(sides: Sequence[_Side], shared: float, alpha: float) -> float:
    """As the model's: t on Satterthwaite's degrees of freedom."""
    own = np.array([side.variance for side in sides])
    total = float(own.sum()) + shared
    uncertainty = float((own**2 / np.array([side.degrees for side in sides])).sum())
    degrees = total**2 / max(uncertainty, 1e-300)
    return float(t_critical(alpha / 2, degrees)) * math.sqrt(total)
