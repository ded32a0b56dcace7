"""The weights of slices, estimated: each contender's variance, with its correlation in time."""

import math
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.machine_state import Equations, equations, likely_intensity, state
from deadheat.stats.responses import SD
from deadheat.stats.slice_layout import Layout

_FIRST_SD = 0.03  # of a slice, before any is estimated
_FIRST_INTENSITY = 0.01  # log units squared per second
_LEAST_SD = 1e-4
_TO_DEVIATION = 1.4826  # of a normal distribution, from the median of the absolute deviations
_CLIP = 2.5  # robust deviations: no slice pulls its neighbors' state further
_PRIOR_CELLS = 4.0  # what all contenders' inflation is worth, in cells, beside a contender's own


@dataclass(frozen=True)
class WeightedFit:
    """Weights and what they make: the equations, effects of instances and responses, residuals."""

    weights: Floats
    equations: Equations
    instance_effects: Floats
    residuals: Floats
    scores: Floats


def first_look(layout: Layout) -> tuple[Floats, Floats, float]:
    """Residuals, their robust deviation by contender, and the machine's intensity.

    Slices far out are pulled in before the state is smoothed, so that a pause of one server does
    not make its neighbors look disturbed.
    """
    weights = np.full(len(layout), _FIRST_SD**-2)
    first = equations(layout, weights, _FIRST_INTENSITY)
    effects = solve_instances(layout, first, first.score)
    around = layout.log_rate - layout.expected(effects)
    residuals = around - state(layout, around, weights, _FIRST_INTENSITY)
    intensity = _FIRST_INTENSITY
    for _ in range(2):
        sd = _robust_sd(layout, residuals)
        reach = _CLIP * sd[layout.contender]
        pulled = around - residuals + np.clip(residuals, -reach, reach)
        weights = sd[layout.contender] ** -2.0
        intensity = likely_intensity(layout, pulled, weights)
        residuals = around - state(layout, pulled, weights, intensity)
    return residuals, _robust_sd(layout, residuals), intensity


def _robust_sd(layout: Layout, residuals: Floats) -> Floats:
    """Median deviations by contender, at least a share of the field's."""
    sd = np.full(layout.contenders, np.nan)
    order = np.argsort(layout.contender, kind="stable")
    for own in np.split(order, np.cumsum(np.bincount(layout.contender))[:-1]):
        if len(own):
            sd[layout.contender[own[0]]] = _TO_DEVIATION * np.median(np.abs(residuals[own]))
    least = max(0.1 * float(np.nanmedian(sd)), _LEAST_SD)
    return np.asarray(np.fmax(sd, least), dtype=float)


def solve_instances(layout: Layout, parts: Equations, right: Floats) -> Floats:
    """A solution for `right` [unknown] or [unknown, column], which is the score for the effects.

    Only contrasts of instances that are linked mean anything. Responses are random with a standard
    deviation of `SD`, because a few slices do not determine one.
    """
    information = parts.information
    ridge = 1e-9 * float(information.diagonal.sum()) / information.size + 1e-300
    of_responses = np.full(len(layout.responses), math.sqrt(ridge) * SD)
    scale = np.append(np.ones(layout.instance_count), of_responses)
    columns = scale if right.ndim == 1 else scale[:, None]
    return np.asarray(columns * information.factors(scale, ridge).solve(columns * right))


def weighted_fit(layout: Layout, residuals: Floats, calm: Floats, intensity: float) -> WeightedFit:
    """Fit with each contender's variance, then again with its time correlation in the variance."""
    count = layout.contenders
    total = np.maximum(np.bincount(layout.contender, calm, count), 1e-300)
    variance = np.bincount(layout.contender, calm * residuals**2, count) / total
    least = max(0.01 * float(np.median(variance[np.unique(layout.contender)])), _LEAST_SD**2)
    weights = calm / np.maximum(variance, least)[layout.contender]
    fit = _fit(layout, weights, intensity)
    return _fit(layout, weights / _inflation(layout, fit)[layout.contender], intensity)


def _fit(layout: Layout, weights: Floats, intensity: float) -> WeightedFit:
    parts = equations(layout, weights, intensity)
    effects = solve_instances(layout, parts, parts.score)
    around = layout.log_rate - layout.expected(effects)
    residuals = around - state(layout, around, weights, intensity)
    scores = np.zeros(layout.instances.shape)
    np.add.at(scores, (layout.row, layout.local), weights * residuals)
    if len(layout.responses):
        moved = layout.responses.shift * weights * residuals
        np.add.at(scores, (layout.row, layout.response_local), moved)
    return WeightedFit(weights, parts, effects, residuals, scores)


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
