"""Contender effects out of instance effects, and how sure they are.

What separates two contenders in the end is how their instances scatter. Each contender's own
scatter is compared with what a common instance variance explains, and learns from the others'
as far as they are alike (`learn_variances`). Degrees of freedom: Satterthwaite (1946), from the
variances of the quadratic forms below. Slow noise that a contender's instances share is added
(`own_noise`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.model.instance_matrix import Factors, InstanceMatrix
from deadheat.stats.model.machine_state import Equations
from deadheat.stats.model.own_noise import own_noise
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slice_weights import LARGEST, WeightedFit
from deadheat.stats.model.variances import learn_variances

_FIRST_INSTANCE_SD = 0.02
_LEAST_INSTANCE_SD = 1e-4
_LEAST_INFORMATION = 1e-9  # of the best-known instance: one that nothing was measured beside
_LEAST_SHARED = 1e-10  # of a contender's information; less is rounding: nothing ran beside it
_LEAST_FREE = 1e-9  # of a contender's weights; less is rounding: its instances cannot scatter
_COLUMNS = 256  # of the instances' weights, computed together
_UPDATES = 5  # of the common instance variance


@dataclass(frozen=True)
class EffectEstimate:
    """Effects and variances; one value or row per contender.

    `log_rate` is the contender's effect plus the level of the machine: the log of the rate that its
    mean cycle time over the race's rounds gives; NaN without slices.
    `variance` [contender, contender] is that of a pair's log ratio, and `degrees_of_freedom` its
    degrees; NaN where the data do not link the two. `instance_variance` is one instance's,
    `slice_variance` what one more slice is worth (time correlation included):
    instances vary by instance_variance + slice_variance / slices. `contender_degrees` are the
    degrees of freedom of the contender's instance variance. `disagreement` [contender, contender]
    is how far the log ratio of other rates that the data show may be: intervals contain both.
    """

    log_rate: Floats
    variance: Floats
    degrees_of_freedom: Floats
    instance_variance: Floats
    slice_variance: Floats
    contender_degrees: Floats
    disagreement: Floats


@dataclass(frozen=True)
class _Weights:
    """M = A (I + T A)^-1, the weights of all instances: A is their information, T their variances.

    Neither A nor T needs to be regular: (I + A T)^-1 follows from the positive definite
    I + S A S, where S is the root of T.
    """

    information: InstanceMatrix
    root: Floats
    factors: Factors

    @classmethod
    def of(cls, information: InstanceMatrix, spread: Floats) -> "_Weights":
        root = np.sqrt(spread)
        return cls(information, root, information.factors(root, 1.0))

    def shrink(self, right: Floats) -> Floats:
        """(I + A T)^-1 times `right` [instance, column]; times A @ x, it is M @ x.

        Two expressions are equal. Each row takes the one in which less cancels.
        """
        root = self.root[:, None]
        inner = self.factors.solve(root * right)
        shrunk = right - self.information @ (root * inner)
        strong = root**2 * self.information.diagonal[:, None] > 1
        return np.divide(inner, root, out=shrunk, where=strong)


@dataclass(frozen=True)
class _Combined:
    """Contender effects out of instance equations, for given variances of the instances.

    `sums` [instance, contender] are the weights summed over each contender's instances, and
    `loads` [contender, instance] turns effects of instances into the contenders' effects.
    `pull` [instance] is the scaled residual of each.
    """

    weights: _Weights
    effects: Floats
    covariance: Floats
    sums: Floats
    loads: Floats
    pull: Floats
    linked: npt.NDArray[np.bool_]


def estimate(layout: Layout, fit: WeightedFit) -> EffectEstimate:
    """Contender effects, variances and degrees of freedom; two instances each for an interval."""
    count, who = layout.contenders, layout.contender_of
    known = fit.equations.information.diagonal
    best_known = float(known.max(initial=0.0)) or 1.0
    information = np.maximum(known, _LEAST_INFORMATION * best_known)
    noise = 1 / information
    equations = _unbiased(layout, fit.equations, noise)
    common = _common_variance(layout, equations)
    first = _combine(layout, equations, np.full(layout.instance_count, common))
    ratio, degrees = _mean_squares(layout, first)
    learned, degrees = learn_variances(ratio, degrees)
    scale = np.where(np.isfinite(learned), learned, 1.0)
    spread = np.maximum(scale[who] * (common + noise) - noise, 0.0)
    combined = _combine(layout, equations, spread)
    own = own_noise(layout, fit.scores, fit.equations.parts, 1 / (spread + noise))
    variance = _contrasts(combined.covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = _contrast_parts(layout, combined.loads, spread + noise) ** 2 / degrees
        pair_degrees = variance**2 / parts.sum(axis=2)
    variance, pair_degrees = own.added_to(variance, pair_degrees)
    compared = known > _LEAST_INFORMATION * best_known  # others say nothing of their contender
    enough = np.bincount(who, compared, count) > 1
    usable = combined.linked & enough[:, None] & enough[None, :] & np.isfinite(pair_degrees)
    slices = np.bincount(layout.contender, minlength=count)
    seen = slices > 0
    each = np.bincount(who, information, count)
    compared |= np.bincount(who, compared, count)[who] == 0
    instance_variance = np.bincount(who, compared * spread, count)
    log_rate = combined.effects + _level(layout, combined, spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        return EffectEstimate(
            log_rate=np.where(seen, log_rate, np.nan),
            variance=np.where(combined.linked, variance, np.nan),
            degrees_of_freedom=np.where(usable, pair_degrees, np.nan),
            instance_variance=instance_variance / np.bincount(who, compared, count),
            slice_variance=slices / each,
            contender_degrees=degrees,
            disagreement=np.zeros_like(variance),
        )


def _unbiased(layout: Layout, parts: Equations, noise: Floats) -> Equations:
    """The equations without what noise adds to the logs of instances' mean cycle times.

    The log of a mean is below that of its expectation, by half of its relative variance.
    """
    score = parts.score - (parts.information @ (noise / 2)[:, None])[:, 0]
    return replace(parts, score=score)


def _common_variance(layout: Layout, equations: Equations) -> float:
    """The instance variance that explains the scatter of all contenders' instances together.

    Each step multiplies it by the sum of the squared residuals over the sum it lets us expect.
    """
    information = equations.information
    common = _FIRST_INSTANCE_SD**2
    for _ in range(_UPDATES):
        combined = _combine(layout, equations, np.full(layout.instance_count, common))
        weight = combined.weights.factors.trace_of_product()
        expected = weight - float(np.vdot(combined.sums, combined.loads.T))
        if expected <= 1e-9 * float(information.diagonal.sum()):
            break
        common *= float((combined.pull**2).sum()) / expected
        common = min(max(common, _LEAST_INSTANCE_SD**2), 1.0)
    return common


def _combine(layout: Layout, parts: Equations, spread: Floats) -> _Combined:
    """Generalized least squares of the contenders, with instance variances `spread`."""
    member = np.zeros((layout.instance_count, layout.contenders))
    member[np.arange(layout.instance_count), layout.contender_of] = 1.0
    weights = _Weights.of(parts.information, spread)
    right = np.concatenate([parts.information @ member, parts.score[:, None]], axis=1)
    shrunk = weights.shrink(right)
    sums, target = shrunk[:, :-1], shrunk[:, -1]
    normal = member.T @ sums
    own = parts.information.diagonal
    alone = np.diag(normal) <= _LEAST_SHARED * (member.T @ (own / (1 + spread * own)))
    normal[alone] = normal[:, alone] = 0.0
    covariance, linked = _pseudo_inverse((normal + normal.T) / 2)
    effects = covariance @ (member.T @ target)
    return _Combined(
        weights=weights,
        effects=effects,
        covariance=covariance,
        sums=sums,
        loads=covariance @ sums.T,
        pull=target - sums @ effects,
        linked=linked,
    )


def _mean_squares(layout: Layout, combined: _Combined) -> tuple[Floats, Floats]:
    """Each contender's squared residuals over what they are expected to be, and their degrees.

    NaN and 0 for a contender whose instances say nothing of their scatter. The covariance of the
    residuals is M less what the effects take up; a contender needs only its own block of it.
    """
    ratio, degrees = np.full(layout.contenders, np.nan), np.zeros(layout.contenders)
    information = combined.weights.information
    counts = np.bincount(layout.contender_of, minlength=layout.contenders)
    several = np.flatnonzero(counts > 1)
    batches = np.cumsum(counts[several]) // _COLUMNS
    for batch in np.unique(batches):
        own = [np.flatnonzero(layout.contender_of == c) for c in several[batches == batch]]
        columns = np.concatenate(own)
        unit = np.zeros((layout.instance_count, len(columns)))
        unit[columns, np.arange(len(columns))] = 1.0
        weight = combined.weights.shrink(information @ unit)
        begin = 0
        for c, mine in zip(several[batches == batch], own, strict=True):
            whole = weight[mine, begin : begin + len(mine)]
            block = whole - combined.sums[mine] @ combined.loads[:, mine]
            begin += len(mine)
            mean, square = float(np.trace(block)), float((block**2).sum())
            if mean > _LEAST_FREE * float(np.trace(whole)):
                ratio[c] = float((combined.pull[mine] ** 2).sum()) / mean
                degrees[c] = mean**2 / square
    return ratio, degrees


def _pseudo_inverse(normal: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A generalized inverse, and which contenders the data link.

    Contrasts of linked contenders are the same for every such inverse. The scale of each
    contender's information is taken out first, so that the two thresholds do not depend on it.
    """
    own = np.diag(normal)
    scale = np.where(own > 0, 1 / np.sqrt(np.where(own > 0, own, 1.0)), 0.0)
    scaled = normal * scale * scale[:, None]
    linked = np.abs(scaled) > 1e-9
    for _ in range(int(np.ceil(np.log2(max(len(normal), 2))))):
        linked = (linked.astype(float) @ linked.astype(float)) > 0
    values, vectors = np.linalg.eigh(scaled)
    kept = values > 1e-9
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse * scale * scale[:, None], linked


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


def _level(layout: Layout, combined: _Combined, spread: Floats) -> Floats:
    """The machine's level for each contender: that of its mean cycle time over rounds.

    It is one level for all contenders that the data link.
    """
    own = combined.effects[layout.contender_of] + spread * combined.pull
    around = layout.log_rate - own[layout.instance]
    slowness = np.exp(np.minimum(-around, LARGEST))
    level = np.full(layout.contenders, np.nan)
    for group in np.unique(combined.linked[np.unique(layout.contender)], axis=0):
        mine = group[layout.contender]
        if not mine.any():  # a contender alone: linked to nothing, not even to itself
            continue
        _, place = np.unique(layout.round[mine], return_inverse=True)
        in_round = layout.weight[mine] / np.bincount(place)[place]
        level[group] = -math.log(np.average(slowness[mine], weights=in_round))
    alone = np.isnan(level) & (np.bincount(layout.contender, minlength=layout.contenders) > 0)
    for contender in np.flatnonzero(alone):
        mine = layout.contender == contender
        level[contender] = -math.log(np.average(slowness[mine], weights=layout.weight[mine]))
    return level
