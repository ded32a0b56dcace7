"""One additive model of all slices of a race: the numbers that every table reads from.

    log rate = contender + instance (random) + machine state (random walk in a block) + noise

One vector of contender effects gives every ratio, so ratios multiply through, the order is theirs,
and the printed rates have exactly these ratios. Weights are estimated: a contender's slices count
by their variance, inflated by the time correlation seen between blocks. The same model is fitted
twice, `plain` and `robust`; in the second, slices whose neighbors in time were disturbed weigh
less (see `neighbor_weights`).

What separates two contenders in the end is how their instances scatter. Each contender's own
scatter is compared with what a common instance variance explains, and learns from the others'
as far as they are alike; a contender whose instances scatter more than the rest keeps its own
(see `learn_variances`). Degrees of freedom: Satterthwaite (1946), from the quadratic forms below.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deadheat.stats.instance_variance import learn_variances
from deadheat.stats.machine_state import (
    Equations,
    Layout,
    equations,
    likely_intensity,
    state,
)
from deadheat.stats.neighbor_weights import neighbor_weights
from deadheat.stats.quantile import Floats, t_critical
from deadheat.stats.slices import Slices

_FIRST_SD = 0.03  # of a slice, before any is estimated
_FIRST_INTENSITY = 0.01  # log units squared per second
_LEAST_SD = 1e-4
_TO_DEVIATION = 1.4826
_CLIP = 2.5  # robust deviations: no slice pulls its neighbors' state further
_FIRST_INSTANCE_SD = 0.02
_LEAST_INSTANCE_SD = 1e-4
_UPDATES = 5  # of the common instance variance
_PRIOR_CELLS = 8.0  # what all contenders' inflation is worth, in cells, beside a contender's own


@dataclass(frozen=True)
class Estimate:
    """Effects and variances under one weighting; one value or row per contender.

    `log_rate` is the contender's effect plus the level of the machine, which is its mean over the
    race's rounds, calm rounds counting more under the robust weighting; NaN without slices.
    `variance` [contender, contender] is that of a pair's log ratio, and `degrees_of_freedom` its
    degrees; NaN where the data do not link the two. `instance_variance` is one instance's,
    `slice_variance` what one more slice is worth (time correlation included):
    instances vary by instance_variance + slice_variance / slices.
    """

    log_rate: Floats
    variance: Floats
    degrees_of_freedom: Floats
    instance_variance: Floats
    slice_variance: Floats


@dataclass(frozen=True)
class ModelFit:
    """The model of one race. Arrays hold one value per contender.

    `robust_gap` is the robust log rate less the plain one, relative to the field's median, and
    `robust_gap_error` its standard error; `estimates_differ` flags gaps beyond chance (5 % over
    all contenders). `arithmetic_gap` is the log of the arithmetic over the geometric mean of a
    contender's slices: what requests per second over the whole time exceed `log_rate` by.
    """

    robust: Estimate
    plain: Estimate
    slices: npt.NDArray[np.int64]
    instances: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    state_intensity: float
    disturbed_share: float
    robust_gap: Floats
    robust_gap_error: Floats
    estimates_differ: npt.NDArray[np.bool_]
    arithmetic_gap: Floats


@dataclass(frozen=True)
class _Weighted:
    """Weights and what they make: the equations, instance effects, and residuals."""

    weights: Floats
    equations: Equations
    instance_effects: Floats
    residuals: Floats
    scores: Floats


@dataclass(frozen=True)
class _Combined:
    """Contender effects out of instance equations, for given variances of the instances.

    `loads` [contender, instance]: effects are loads @ instance effects. `pull` [instance] is
    the scaled residual of each instance, `projection` its covariance.
    """

    effects: Floats
    covariance: Floats
    loads: Floats
    pull: Floats
    projection: Floats
    linked: npt.NDArray[np.bool_]


def fit_slices(slices: Slices, fewest_instances: int = 2) -> ModelFit:
    """Fit the model; ValueError without slices.

    A pair has an interval only if both have `fewest_instances`. With 1, a contender of one
    instance is taken to vary as the others' instances suggest; where no contender has two,
    there is no interval at all.
    """
    if not len(slices):
        raise ValueError("no slices to fit")
    layout = Layout.of(slices)
    residuals, sd, intensity = _first_look(layout)
    calm = neighbor_weights(layout, residuals / sd[layout.contender])
    plain_fit = _weighted(layout, residuals, np.ones(len(layout)), intensity)
    robust_fit = _weighted(layout, residuals, calm, intensity)
    plain, _ = _estimate(layout, plain_fit, np.ones(len(layout)), fewest_instances)
    robust, loads = _estimate(layout, robust_fit, calm, fewest_instances)
    gap, error, differ = _gap(layout, plain_fit, robust_fit, loads)
    count = layout.contenders
    slice_counts = np.bincount(layout.contender, minlength=count)
    cells = np.unique(layout.contender * (int(layout.row[-1]) + 1) + layout.row)
    with np.errstate(divide="ignore", invalid="ignore"):
        swing = np.bincount(layout.contender, np.exp(plain_fit.residuals), count) / slice_counts
        arithmetic_gap = np.log(swing)
    return ModelFit(
        robust=robust,
        plain=plain,
        slices=slice_counts,
        instances=np.bincount(layout.contender_of, minlength=count),
        blocks=np.bincount(cells // (int(layout.row[-1]) + 1), minlength=count),
        state_intensity=intensity,
        disturbed_share=float(1 - calm.mean()),
        robust_gap=gap,
        robust_gap_error=error,
        estimates_differ=differ,
        arithmetic_gap=arithmetic_gap,
    )


def _first_look(layout: Layout) -> tuple[Floats, Floats, float]:
    """Residuals, their robust deviation by contender, and the machine's intensity.

    Slices far out are pulled in before the state is smoothed, so that a pause of one server does
    not make its neighbors look disturbed.
    """
    weights = np.full(len(layout), _FIRST_SD**-2)
    first = equations(layout, weights, _FIRST_INTENSITY)
    effects = _instance_effects(first)
    around = layout.log_rate - effects[layout.instance]
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
    return np.fmax(sd, least)


def _instance_effects(parts: Equations) -> Floats:
    """One solution of the equations; only contrasts of instances that are linked mean anything."""
    information = parts.information
    ridge = 1e-9 * float(np.trace(information)) / len(information) + 1e-300
    return np.linalg.solve(information + ridge * np.eye(len(information)), parts.score)


def _weighted(layout: Layout, residuals: Floats, calm: Floats, intensity: float) -> _Weighted:
    """Fit with each contender's variance, then again with its time correlation in the variance."""
    count = layout.contenders
    total = np.maximum(np.bincount(layout.contender, calm, count), 1e-300)
    variance = np.bincount(layout.contender, calm * residuals**2, count) / total
    least = max(0.01 * float(np.median(variance[np.unique(layout.contender)])), _LEAST_SD**2)
    weights = calm / np.maximum(variance, least)[layout.contender]
    fit = _fit(layout, weights, intensity)
    return _fit(layout, weights / _inflation(layout, fit)[layout.contender], intensity)


def _fit(layout: Layout, weights: Floats, intensity: float) -> _Weighted:
    parts = equations(layout, weights, intensity)
    effects = _instance_effects(parts)
    around = layout.log_rate - effects[layout.instance]
    residuals = around - state(layout, around, weights, intensity)
    scores = np.zeros(layout.instances.shape)
    np.add.at(scores, (layout.row, layout.local), weights * residuals)
    return _Weighted(weights, parts, effects, residuals, scores)


def _inflation(layout: Layout, fit: _Weighted) -> Floats:
    """By how much a contender's block scores vary more than its weights say.

    Noise that lasts from round to round makes the sum over a block vary more than independent
    slices would. Scores of an instance sum to zero, which the expectation allows for.
    """
    seen = layout.instances >= 0
    own = np.where(seen, layout.instances, 0)
    diagonal = np.einsum("sii->si", fit.equations.parts)
    share = diagonal / np.maximum(np.diag(fit.equations.information)[own], 1e-300)
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
    common = float(np.median(ratios[informed]))
    return np.maximum((_PRIOR_CELLS * common + cells * ratios) / (_PRIOR_CELLS + cells), 0.25)


def _estimate(
    layout: Layout, fit: _Weighted, calm: Floats, fewest_instances: int
) -> tuple[Estimate, Floats]:
    """Contender effects, variances and degrees of freedom under one weighting; and the loads."""
    count, who = layout.contenders, layout.contender_of
    information = np.diag(fit.equations.information)
    noise = 1 / np.maximum(information, 1e-300)
    common = _common_variance(layout, fit)
    first = _combine(layout, fit.equations, np.full(layout.instance_count, common))
    own = [np.flatnonzero(who == c) for c in range(count)]
    ratio, degrees = np.full(count, np.nan), np.zeros(count)
    for c, mine in enumerate(own):
        block = first.projection[np.ix_(mine, mine)]
        mean, square = float(np.trace(block)), float((block**2).sum())
        if len(mine) > 1 and mean > 0:
            ratio[c] = float((first.pull[mine] ** 2).sum()) / mean
            degrees[c] = mean**2 / square
    learned, degrees = learn_variances(ratio, degrees)
    scale = np.where(np.isfinite(learned), learned, 1.0)
    spread = np.maximum(scale[who] * (common + noise) - noise, 0.0)
    combined = _combine(layout, fit.equations, spread)
    variance = _contrasts(combined.covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = _contrast_parts(layout, combined.loads, spread + noise) ** 2 / degrees
        pair_degrees = variance**2 / parts.sum(axis=2)
    enough = np.bincount(who, minlength=count) >= fewest_instances
    usable = combined.linked & enough[:, None] & enough[None, :] & np.isfinite(pair_degrees)
    slices = np.bincount(layout.contender, minlength=count)
    seen = slices > 0
    each = np.bincount(who, information, count)
    instance_variance = np.bincount(who, spread, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Estimate(
            log_rate=np.where(seen, combined.effects + _level(layout, combined, spread, calm), np.nan),
            variance=np.where(combined.linked, variance, np.nan),
            degrees_of_freedom=np.where(usable, pair_degrees, np.nan),
            instance_variance=instance_variance / np.bincount(who, minlength=count),
            slice_variance=slices / each,
        ), combined.loads


def _common_variance(layout: Layout, fit: _Weighted) -> float:
    """The instance variance that explains the scatter of all contenders' instances together.

    With one variance v for all, M of `_combine` has the eigenvectors of A and the eigenvalues
    a / (1 + v a), so that one decomposition serves every step of the fixed-point iteration.
    """
    values, vectors = np.linalg.eigh(fit.equations.information)
    values = np.where(values > 1e-10 * values[-1], values, 0.0)
    score = vectors.T @ fit.equations.score
    member = np.zeros((layout.contenders, layout.instance_count))
    member[layout.contender_of, np.arange(layout.instance_count)] = 1.0
    turned = member @ vectors
    common = _FIRST_INSTANCE_SD**2
    for _ in range(_UPDATES):
        shrink = 1 / (1 + common * values)
        sums = turned * (values * shrink)
        covariance, _ = _pseudo_inverse(sums @ turned.T)
        effects = covariance @ (turned @ (shrink * score))
        pull = shrink * score - sums.T @ effects
        expected = float((values * shrink).sum() - np.vdot(sums, covariance @ sums))
        if expected <= 1e-9 * float(values.sum()):
            break
        common *= float((pull**2).sum()) / expected
        common = min(max(common, _LEAST_INSTANCE_SD**2), 1.0)
    return common


def _combine(layout: Layout, parts: Equations, spread: Floats) -> _Combined:
    """Generalized least squares of the contenders, with instance variances `spread`.

    With A the instances' information and T = diag(spread), the effects' weight matrix is
    M = A (I + T A)^-1, which needs neither T nor A to be regular.
    """
    count, who = layout.contenders, layout.contender_of
    information = parts.information
    size = len(information)
    right = np.concatenate([information, parts.score[:, None]], axis=1)
    solved = np.linalg.solve(np.eye(size) + information * spread[None, :], right)
    weight, target = (solved[:, :-1] + solved[:, :-1].T) / 2, solved[:, -1]
    member = np.zeros((count, size))
    member[who, np.arange(size)] = 1.0
    sums = member @ weight
    normal = sums @ member.T
    covariance, linked = _pseudo_inverse(normal)
    effects = covariance @ (member @ target)
    loads = covariance @ sums
    return _Combined(
        effects=effects,
        covariance=covariance,
        loads=loads,
        pull=target - sums.T @ effects,
        projection=weight - sums.T @ loads,
        linked=linked,
    )


def _pseudo_inverse(normal: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The Moore-Penrose inverse, and which contenders the data link."""
    largest = float(np.abs(normal).max(initial=0.0))
    if largest == 0:
        return np.zeros_like(normal), np.zeros(normal.shape, dtype=bool)
    linked = np.abs(normal) > 1e-9 * largest
    for _ in range(int(np.ceil(np.log2(max(len(normal), 2))))):
        linked = (linked.astype(float) @ linked.astype(float)) > 0
    values, vectors = np.linalg.eigh(normal)
    kept = values > 1e-10 * values[-1]
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T, linked


def _contrasts(covariance: Floats) -> Floats:
    """Variances of differences; 0 on the diagonal."""
    own = np.diag(covariance)
    return np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0)


def _contrast_parts(layout: Layout, loads: Floats, variance: Floats) -> Floats:
    """[a, b, c]: how much of the variance of a - b the instances of contender c bring."""
    count = layout.contenders
    scaled = loads * np.sqrt(variance)
    parts = np.empty((count, count, count))
    for c in range(count):
        mine = scaled[:, layout.contender_of == c]
        products = mine @ mine.T
        own = np.diag(products)
        parts[:, :, c] = own[:, None] + own[None, :] - 2 * products
    return np.maximum(parts, 0.0)


def _level(layout: Layout, combined: _Combined, spread: Floats, calm: Floats) -> float:
    """The machine's level: its mean over rounds, each weighing as its slices were calm."""
    instance = combined.effects[layout.contender_of] + spread * combined.pull
    around = layout.log_rate - instance[layout.instance]
    _, place = np.unique(layout.round, return_inverse=True)
    calm_by_round = np.bincount(place, calm) / np.bincount(place)
    level_by_round = np.bincount(place, calm * around) / np.bincount(place, calm)
    return float((calm_by_round * level_by_round).sum() / calm_by_round.sum())


def _gap(
    layout: Layout, plain: _Weighted, robust: _Weighted, loads: Floats
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Robust less plain effects with their standard errors, blocks as independent replicates."""
    count = layout.contenders
    seen = np.bincount(layout.contender, minlength=count) > 0
    gap = loads @ (robust.instance_effects - plain.instance_effects)
    influence = _influence(layout, robust, loads) - _influence(layout, plain, loads)
    segments = len(influence)
    gap = gap - np.median(gap[seen])
    influence = influence - influence[:, seen].mean(axis=1, keepdims=True)
    if segments < 2:
        return gap, np.full(count, np.nan), np.zeros(count, dtype=bool)
    error = np.sqrt((influence**2).sum(axis=0) * segments / (segments - 1))
    reach = float(t_critical(0.025 / max(int(seen.sum()), 1), segments - 1))
    return gap, error, seen & (np.abs(gap) > reach * error)


def _influence(layout: Layout, fit: _Weighted, loads: Floats) -> Floats:
    """[segment, contender]: what each segment's residuals moved the effects by."""
    size = layout.instance_count
    scores = np.zeros((len(layout.instances), size + 1))
    index = np.where(layout.instances < 0, size, layout.instances)
    np.put_along_axis(scores, index, np.where(layout.instances < 0, 0.0, fit.scores), axis=1)
    information = fit.equations.information
    ridge = 1e-9 * float(np.trace(information)) / size + 1e-300
    response = np.linalg.solve(information + ridge * np.eye(size), loads.T)
    return scores[:, :size] @ response
