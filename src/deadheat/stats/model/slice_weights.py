"""The weights of slices, estimated: each contender's variance, with its correlation in time."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.model.machine_state import Equations, equations, likely_intensity, score, state
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slices import Indices

_FIRST_SD = 0.03  # of a slice, before any is estimated
_FIRST_INTENSITY = 0.01  # log units squared per second
_LEAST_SD = 1e-4
_TO_DEVIATION = 1.4826  # of a normal distribution, from the median of the absolute deviations
LARGEST = 30.0  # log of a cycle time over the expected one
_LONGEST_STEP = 1.0  # of an expected log rate
_MOST_STEPS = 40
_NEAR, _CONVERGED = 1e-3, 1e-10  # a last step
_CLIP = 2.5  # robust deviations: no slice pulls its neighbors' state further
_PRIOR_CELLS = 4.0  # what all contenders' inflation is worth, in cells, beside a contender's own


@dataclass(frozen=True)
class WeightedFit:
    """Weights and what they make: the equations and residuals.

    `expected` is the log rate of each slice by instance and state of the machine.
    `residuals` are 1 less the slice's mean cycle time over the expected one.
    """

    weights: Floats
    equations: Equations
    expected: Floats
    residuals: Floats
    scores: Floats


@dataclass(frozen=True)
class FirstLook:
    """Log rates less their instances' effects (`around`), and the machine's state by them.

    `intensity` is that of the state.
    """

    around: Floats
    state: Floats
    intensity: float


def first_look(layout: Layout) -> FirstLook:
    """What the log rates show before there are weights."""
    weights = layout.weight / _FIRST_SD**2
    first = equations(layout, layout.log_rate, weights, _FIRST_INTENSITY)
    around = layout.log_rate - instance_solver(layout, first)(first.score)[layout.instance]
    of_machine = _medians(layout.row, around)
    for _ in range(3):
        sd = _robust_sd(layout, around - of_machine)
        reach = _CLIP * sd[layout.contender]
        pulled = of_machine + np.clip(around - of_machine, -reach, reach)
        weights = layout.weight / sd[layout.contender] ** 2
        intensity = likely_intensity(layout, pulled, weights)
        of_machine = state(layout, pulled, weights, intensity)
    return FirstLook(around, of_machine, intensity)


def _medians(group: Indices, values: Floats) -> Floats:
    """For each value, the median of its group; groups are numbered from 0 and sorted."""
    parts = np.split(values, np.flatnonzero(np.diff(group)) + 1)
    return np.asarray(np.array([np.median(part) for part in parts])[group])


def _robust_sd(layout: Layout, residuals: Floats) -> Floats:
    """Median deviations by contender, at least a share of the field's."""
    sd = np.full(layout.contenders, np.nan)
    order = np.argsort(layout.contender, kind="stable")
    for own in np.split(order, np.cumsum(np.bincount(layout.contender))[:-1]):
        if len(own):
            sd[layout.contender[own[0]]] = _TO_DEVIATION * np.median(np.abs(residuals[own]))
    least = max(0.1 * float(np.nanmedian(sd)), _LEAST_SD)
    return np.asarray(np.fmax(sd, least), dtype=float)


def instance_solver(layout: Layout, parts: Equations) -> Callable[[Floats], Floats]:
    """Solves for right sides [instance] or [instance, column]; the score gives the effects.

    Only contrasts of instances that are linked mean anything.
    """
    information = parts.information
    ridge = 1e-9 * float(information.diagonal.sum()) / information.size + 1e-300
    return information.factors(np.ones(layout.instance_count), ridge).solve


def weighted_fit(layout: Layout, first: FirstLook) -> WeightedFit:
    """Fit mean cycle times, with each contender's variance and its time correlation.

    The model is of log rates, and yet a contender's effect is its true long-run rate, pauses
    included: for each instance, the sum of weight x (cycle time / expected cycle time - 1) is 0 (a
    quasi-likelihood with log link and gamma variance, fitted by iterated weighted least squares:
    McCullagh & Nelder, Generalized Linear Models, 1989, chapters 8 and 9; Santos Silva & Tenreyro,
    The log of gravity, 2006). A slice's cycle time weighs as much as it has requests, because a
    window's requests are a stopped renewal process (Wald 1944). Variances are second moments, so
    what pauses bring is in them.
    """
    weight, who = layout.weight, layout.contender
    expected = layout.log_rate - first.around + first.state
    for _ in range(2):  # the first look has another center than the mean cycle time
        variance = _variances(layout, weight, _apart(layout, expected))
        fit = _converged(layout, expected, weight / variance[who], first.intensity, _NEAR)
        expected = fit.expected
    inflated = fit.weights / _inflation(layout, fit)[who]
    return _converged(layout, expected, inflated, first.intensity, _CONVERGED)


def _converged(
    layout: Layout, expected: Floats, weights: Floats, intensity: float, last_step: float
) -> WeightedFit:
    """The fit for given weights, from a first guess of the log rates of slices."""
    parts = equations(layout, layout.log_rate, weights, intensity)
    solve = instance_solver(layout, parts)
    for _ in range(_MOST_STEPS):
        response = expected + _apart(layout, expected)
        parts = replace(parts, score=score(layout, response, weights, intensity))
        effects = solve(parts.score)
        own = effects[layout.instance]
        fitted = own + state(layout, response - own, weights, intensity)
        step = np.clip(fitted - expected, -_LONGEST_STEP, _LONGEST_STEP)
        expected = expected + step
        if float(np.abs(step).max()) < last_step:
            break
    residuals = response - fitted
    scores = np.zeros(layout.instances.shape)
    np.add.at(scores, (layout.row, layout.local), weights * residuals)
    return WeightedFit(weights, parts, expected, residuals, scores)


def _apart(layout: Layout, expected: Floats) -> Floats:
    """1 less the mean cycle time of each slice over the expected one."""
    return -np.expm1(np.minimum(expected - layout.log_rate, LARGEST))


def _variances(layout: Layout, weight: Floats, residuals: Floats) -> Floats:
    """Of a slice of weight 1, by contender, so that sums of weighted residuals vary as seen."""
    count = layout.contenders
    total = np.maximum(np.bincount(layout.contender, weight, count), 1e-300)
    variance = np.bincount(layout.contender, (weight * residuals) ** 2, count) / total
    least = 0.01 * float(np.median(variance[np.unique(layout.contender)]))
    return np.maximum(variance, max(least, _LEAST_SD**2))


def _inflation(layout: Layout, fit: WeightedFit) -> Floats:
    """By how much a contender's block scores vary more than its weights say.

    Noise that lasts from round to round makes the sum over a block vary more than independent
    slices would. Scores of an instance sum to zero, which the expectation allows for.
    """
    seen = layout.is_instance
    own = np.where(seen, layout.instances, 0)
    diagonal = np.einsum("sii->si", fit.equations.parts)
    share = diagonal / np.maximum(fit.equations.information.diagonal[own], 1e-300)
    expected = np.where(seen, diagonal * np.maximum(1 - share, 0), 0.0)
    who = np.where(seen, layout.contender_of[own], 0)
    count = layout.contenders
    squares = np.bincount(who.ravel(), np.where(seen, fit.scores**2, 0.0).ravel(), count)
    expectation = np.bincount(who.ravel(), expected.ravel(), count)
    cells = np.bincount(who.ravel(), np.where(seen, 1 - share, 0.0).ravel(), count)
    if expectation.sum() <= 0:
        return np.ones(count)
    informed = expectation > 1e-9 * expectation.max()
    ratios = np.where(informed, squares / np.where(informed, expectation, 1.0), 1.0)
    common = max(float(np.median(ratios[informed])), 1.0)
    return np.maximum((_PRIOR_CELLS * common + cells * ratios) / (_PRIOR_CELLS + cells), 0.25)
