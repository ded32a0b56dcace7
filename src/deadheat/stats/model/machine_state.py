"""The state of the machine under all contenders: a random walk inside each block.

A slice's log rate is instance + state + noise. The state is a random walk in time with an
intensity of `intensity` log units squared per second, free to start anew in each block (so that
blocks are compared only within themselves: a drift between blocks costs no honesty). For given
weights, generalized least squares removes it in closed form: with Z the slices' instances, W the
weights and Q the walk's precision, a block adds Z'(W - W (W + Q)^-1 W) Z to the normal equations
(Henderson's mixed model equations; Searle, Casella & McCulloch, Variance Components, 1992, chapter
7). W + Q is tridiagonal; all blocks are solved side by side by the Thomas algorithm.
"""

from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.model.instance_matrix import InstanceMatrix
from deadheat.stats.model.slice_layout import Layout

_RELATIVE_INTENSITIES = (0.0003, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of a slice's noise variance


@dataclass(frozen=True)
class Equations:
    """Normal equations of the instances, the state removed.

    `information` [instance, instance] and `score` [instance] are their sums over segments;
    `parts` [segment, local, local] the information by segment.
    """

    information: InstanceMatrix
    score: Floats
    parts: Floats


def equations(layout: Layout, response: Floats, weights: Floats, intensity: float) -> Equations:
    """The equations of `response`, a log rate of each slice, for given intensity.

    `weights` are 1 / noise variance, one per slice.
    """
    segments, locals_ = layout.instances.shape
    parts = np.zeros((segments, locals_, locals_))
    for group in layout.groups:
        weight = np.zeros(group.gap_s.shape)
        weight[group.row, group.column] = weights[group.slices]
        right = np.zeros((*weight.shape, group.locals))
        right[group.row, group.column, group.local] = weights[group.slices]
        solved = _solve(weight, group.gap_s, intensity, right)
        removed = right.transpose(0, 2, 1) @ solved
        parts[group.segments, : group.locals, : group.locals] = -removed
    np.add.at(parts, (layout.row, layout.local, layout.local), weights)
    parts[layout.alone] = 0.0
    information = InstanceMatrix.of(layout.fronts, parts)
    return Equations(information, score(layout, response, weights, intensity), parts)


def score(layout: Layout, response: Floats, weights: Floats, intensity: float) -> Floats:
    """What `equations` has as `score`; only it depends on the response."""
    around = weights * (response - state(layout, response, weights, intensity))
    around[layout.alone[layout.row]] = 0.0
    return np.asarray(np.bincount(layout.instance, around, layout.instance_count), dtype=float)


def state(layout: Layout, residuals: Floats, weights: Floats, intensity: float) -> Floats:
    """The smoothed state at each slice, out of log rates less their instances' effects."""
    right = layout.padded(weights * residuals)[..., None]
    solved = _solve(layout.padded(weights), layout.gap_s, intensity, right)
    return np.asarray(solved[layout.row, layout.column, 0])


def likely_intensity(layout: Layout, residuals: Floats, weights: Floats) -> float:
    """The intensity of greatest likelihood over a fixed grid, the instances' effects given.

    Restricted likelihood of a random walk with a free level in each segment, seen with noise of
    variance 1 / weights (Harvey, Forecasting, Structural Time Series Models, 1989, section 4.5).
    """
    weight = layout.padded(weights)
    inside = layout.padded(np.ones(len(layout))) > 0
    linked = inside & np.isfinite(layout.gap_s)
    if not linked.any():
        return _RELATIVE_INTENSITIES[0]
    per_s = 1 / (float(np.median(layout.gap_s[linked])) * float(np.median(weights)))
    right = layout.padded(weights * residuals)
    total = float((weights * residuals**2).sum())
    candidates = [share * per_s for share in _RELATIVE_INTENSITIES]
    likelihoods = []
    for candidate in candidates:
        solved, pivots = _eliminate(weight, layout.gap_s, candidate, right[..., None])
        fit = total - float((right * solved[..., 0]).sum())
        free = float(np.log(pivots[inside]).sum() + np.log(candidate * layout.gap_s[linked]).sum())
        likelihoods.append(-0.5 * (fit + free))
    return candidates[int(np.argmax(likelihoods))]


def _solve(weight: Floats, gap_s: Floats, intensity: float, right: Floats) -> Floats:
    return _eliminate(weight, gap_s, intensity, right)[0]


def _eliminate(
    weight: Floats, gap_s: Floats, intensity: float, right: Floats
) -> tuple[Floats, Floats]:
    """(W + Q)^-1 right, and the pivots, for all segments; right [segment, position, column]."""
    positions = weight.shape[1]
    link = 1 / (intensity * gap_s)
    diagonal = weight + link
    diagonal[:, :-1] += link[:, 1:]
    diagonal[diagonal == 0] = 1.0
    link_by, right_by = link.T[:, :, None], right.transpose(1, 0, 2)
    pivots = np.empty((positions, len(weight), 1))
    pivots[0] = diagonal[:, 0, None]
    for i in range(1, positions):
        pivots[i] = diagonal[:, i, None] - link_by[i] ** 2 / pivots[i - 1]
    inverse = 1 / pivots
    factors = link_by[1:] * inverse[:-1]
    solved = np.array(right_by, order="C")
    carried = np.empty(solved.shape[1:])
    for i in range(1, positions):
        solved[i] += np.multiply(solved[i - 1], factors[i - 1], out=carried)
    solved *= inverse
    for i in range(positions - 2, -1, -1):
        solved[i] += np.multiply(solved[i + 1], factors[i], out=carried)
    return solved.transpose(1, 0, 2), pivots[:, :, 0].T
