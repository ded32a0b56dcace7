"""What more time would buy: another instance, or more slices of those that run?

The variance of a contender's effect is instance_variance / instances + slice_variance / slices.
More slices shrink the second part alone; a fresh instance shrinks both, and also adds a degree of
freedom. The optimal number of slices per instance is the classic one for two-stage sampling:
sqrt(slice_variance / instance_variance x seconds per instance / seconds per slice) (Cochran,
Sampling Techniques, 1977, section 10.6; Kalibera & Jones 2013 for invocations of programs).
"""

import math
from dataclasses import dataclass
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

    `between` comes from its few instances, `within` from its few slices. `gain_per_s` is the
    variance that a second of the better `action` takes away. `slices_per_instance` is how many
    a fresh instance should get.
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


@dataclass
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

    def gain_per_s(self, action: Action) -> float:
        fresh = action is Action.INSTANCE
        slices = self.slices + (self.slices_per_instance if fresh else self.step_slices)
        after = self.instance_variance / (self.instances + fresh) + self.slice_variance / slices
        return (self.variance - after) / self.seconds(action)

    @property
    def action(self) -> Action:
        return max(Action, key=self.gain_per_s)

    def take(self, action: Action) -> None:
        fresh = action is Action.INSTANCE
        slices = self.slices_per_instance if fresh else self.step_slices
        self.instances += fresh
        self.degrees += fresh
        self.extra_instances += fresh
        self.slices += slices
        self.extra_slices += slices


def contribution(fit: ModelFit, contender: int, cost: Cost) -> Contribution:
    """How a contender's variance splits, and what a second of either action is worth."""
    side = _side(fit, fit.robust, contender, cost)
    return Contribution(
        between=side.instance_variance / side.instances,
        within=side.slice_variance / side.slices,
        slices_per_instance=side.slices_per_instance,
        action=side.action,
        gain_per_s=side.gain_per_s(side.action),
    )


def plan(
    fit: ModelFit, first: int, second: int, costs: tuple[Cost, Cost], margin: float, alpha: float
) -> Plan | None:
    """The cheapest way found to decide a pair; None where it has no interval yet.

    Greedy: whichever action of either contender takes most variance away per second, until the
    half width at two-sided `alpha` is below the difference, or below what the difference leaves
    of the `margin`. Slices of one contender also need neighbors to be compared with, so a plan is
    a lower bound where it asks for slices of one alone.
    """
    estimate = fit.robust
    if not math.isfinite(float(estimate.degrees_of_freedom[first, second])):
        return None
    sides = (
        _side(fit, estimate, first, costs[0]),
        _side(fit, estimate, second, costs[1]),
    )
    difference = abs(float(estimate.log_rate[first] - estimate.log_rate[second]))
    wanted = max(difference, math.log1p(margin) - difference)
    shared = max(float(estimate.variance[first, second]) - sides[0].variance - sides[1].variance, 0)
    seconds = 0.0
    for _ in range(_MOST_STEPS):
        if _half_width(sides, shared, alpha) < wanted:
            break
        side = max(sides, key=lambda each: each.gain_per_s(each.action))
        action = side.action
        seconds += side.seconds(action)
        side.take(action)
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


def _half_width(sides: tuple[_Side, _Side], shared: float, alpha: float) -> float:
    """As the model's: t on Satterthwaite's degrees of freedom."""
    own = np.array([side.variance for side in sides])
    total = float(own.sum()) + shared
    uncertainty = float((own**2 / np.array([side.degrees for side in sides])).sum())
    degrees = total**2 / max(uncertainty, 1e-300)
    return float(t_critical(alpha / 2, degrees)) * math.sqrt(total)
