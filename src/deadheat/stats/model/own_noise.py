"""Slow noise of a contender's own, which its instances share because they take turns.

The scatter of instances does not show it, so it is estimated from how a contender's blocks vary
around the means of its instances: blocks near in time are alike. The model of a block is

    block = instance (fixed) + own (Ornstein-Uhlenbeck, sd and correlation time) + noise

Its restricted likelihood (Patterson & Thompson 1971), which lacks the bias of sample
autocovariances, is averaged over a grid. Contenders learn from each other: most have the common
deviation (a hierarchical model on a grid, as in `variances`).

Simulated races decided between priors and ways to count degrees of freedom (`python -m bench.model`
with cases of own noise). A flat prior makes intervals of races without such noise up to 20 % wider.
With a probability of 80 % that there is none, they are 14 to 18 % wider, and 1 to 5 % fewer of the
races with it are wrong. A variance taken as known leaves 12 % of races with it wrong. Degrees down
to where nothing is known make the intervals of a race of a few blocks five times as wide, though no
deviation is above 5 %.
"""

from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slices import Indices

_SDS = np.array([0.0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05])
_TIMES_S = np.array([5.0, 15.0, 30.0, 60.0, 120.0])
_NONE = 0.95  # prior probability that there is no such noise
_USUAL_SD = 0.01  # above it, a deviation is the less likely the larger its square
_ALIKE = 0.9  # prior probability that a contender has the common deviation, not any of the grid
# What a block's noise may be of the variance that its slices' weights say, for they allow for
# slices that are correlated, and own noise is a part of that.
_FACTORS = np.geomspace(0.1, 1.6, 9)
_MOST_BINS = 100  # of a contender's blocks; more are put together
_LEAST_DEGREES = 8.0  # of a pair that has as many without own noise
_LEAST_INFORMATION = 1e-9  # of the best-known cell


@dataclass(frozen=True)
class OwnNoise:
    """The variance that own noise adds to each contender's effect: posterior mean and variance."""

    mean: Floats
    variance: Floats

    def added_to(self, variance: Floats, degrees: Floats) -> tuple[Floats, Floats]:
        """Variances and degrees of freedom of pairs, [contender, contender], with own noise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            total = variance + _of_pairs(self.mean)
            known = total**2 / (variance**2 / degrees + _of_pairs(self.variance) / 2)
        return total, np.maximum(known, np.minimum(degrees, _LEAST_DEGREES))


@dataclass(frozen=True)
class _Bins:
    """Blocks of one contender, in order of time, some put together.

    `value` are mean log rates beside the model, `noise` their variances as the weights say. `begin`
    and `end` are in seconds. `share` [bin, instance] is how much each of the contender's instances
    (`instances`) counts in a bin. `spread` is how much more own noise makes them vary than it would
    beside steady contenders: theirs is in their values, too.
    """

    value: Floats
    noise: Floats
    begin: Floats
    end: Floats
    instances: Indices
    share: Floats
    spread: float


def own_noise(layout: Layout, scores: Floats, parts: Floats, precision: Floats) -> OwnNoise:
    """Estimate it.

    `scores` [segment, local] and `parts` [segment, local, local] are those of the weighted fit, and
    `precision` [instance] is how much each instance counts in its contender's effect.
    """
    count = layout.contenders
    log_likelihood = np.zeros((count, len(_SDS), len(_TIMES_S)))
    added = np.zeros((count, len(_TIMES_S)))  # at a deviation of 1
    for contender, bins in _binned(layout, scores, parts).items():
        for k, time_s in enumerate(_TIMES_S):
            correlation = _correlation(bins, float(time_s))
            log_likelihood[contender, :, k] = _log_likelihood(bins, correlation)
            added[contender, k] = _added(bins, correlation, precision[bins.instances])
    posterior = _posterior(log_likelihood)
    each = _SDS[:, None] ** 2 * added[:, None, :]
    mean = (posterior * each).sum(axis=(1, 2))
    square = (posterior * each**2).sum(axis=(1, 2))
    return OwnNoise(mean, np.maximum(square - mean**2, 0.0))


def _of_pairs(values: Floats) -> Floats:
    """Sums of two contenders' values; 0 on the diagonal."""
    sums = values[:, None] + values
    np.fill_diagonal(sums, 0.0)
    return np.asarray(sums)


def _binned(layout: Layout, scores: Floats, parts: Floats) -> dict[int, _Bins]:
    begin = np.full(layout.instances.shape, np.inf)
    end = np.full(layout.instances.shape, -np.inf)
    np.minimum.at(begin, (layout.row, layout.local), layout.time_s)
    np.maximum.at(end, (layout.row, layout.local), layout.time_s)
    information = np.einsum("sii->si", parts)
    known = layout.is_instance & (information > _LEAST_INFORMATION * information.max(initial=0.0))
    others = (parts**2 * layout.is_instance[:, None, :]).sum(axis=2) - information**2
    row, local = np.nonzero(known)
    instance = layout.instances[row, local]
    begin, end, scores, information, others = (
        each[row, local] for each in (begin, end, scores, information, others)
    )
    who = layout.contender_of[instance]
    made = {}
    for contender in np.unique(who):
        mine = np.flatnonzero(who == contender)
        mine = mine[np.argsort(begin[mine], kind="stable")]
        place = np.arange(len(mine)) // -(-len(mine) // _MOST_BINS)
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        total = np.bincount(place, information[mine])
        instances, number = np.unique(instance[mine], return_inverse=True)
        share = np.zeros((len(starts), len(instances)))
        np.add.at(share, (place, number), information[mine] / total[place])
        made[int(contender)] = _Bins(
            value=np.bincount(place, scores[mine]) / total,
            noise=1 / total,
            begin=begin[mine][starts],
            end=np.maximum.reduceat(end[mine], starts),
            instances=instances,
            share=share,
            spread=1 + float((others[mine] / information[mine] ** 2).mean()),
        )
    return made


def _correlation(bins: _Bins, time_s: float) -> Floats:
    """[bin, bin]: that of the means of a process of variance 1 over the bins' times."""
    width = np.maximum(bins.end - bins.begin, 1e-6 * time_s) / time_s
    gap = np.maximum(bins.begin[:, None] - bins.end, bins.begin - bins.end[:, None])
    mean = -np.expm1(-width) / width
    correlation = mean[:, None] * mean * np.exp(-np.maximum(gap, 0.0) / time_s)
    np.fill_diagonal(correlation, 2 * (width + np.expm1(-width)) / width**2)
    return correlation


def _log_likelihood(bins: _Bins, correlation: Floats) -> Floats:
    """The restricted one of each of `_SDS`, averaged over `_FACTORS`."""
    scale = 1 / np.sqrt(bins.noise)
    basis, singular, _ = np.linalg.svd(scale[:, None] * bins.share)
    free = basis[:, int((singular > 1e-6 * singular[0]).sum()) :]
    scaled = scale[:, None] * free
    values, vectors = np.linalg.eigh(bins.spread * scaled.T @ correlation @ scaled)
    squares = (vectors.T @ (scaled.T @ bins.value)) ** 2
    variance = _FACTORS[:, None] + _SDS[:, None, None] ** 2 * np.maximum(values, 0.0)
    terms = -0.5 * (np.log(variance) + squares / variance).sum(axis=2) / bins.spread
    return np.asarray(np.logaddexp.reduce(terms, axis=1))


def _added(bins: _Bins, correlation: Floats, precision: Floats) -> float:
    """What own noise of variance 1 adds to the variance of the contender's effect.

    Less what it adds to the scatter of instances, for that is in the variance already.
    """
    counts = bins.share / bins.noise[:, None]
    means = (counts / counts.sum(axis=0)).T
    of_means = means @ correlation @ means.T
    weight = precision / precision.sum()
    with_all = of_means @ weight
    of_effect = float(weight @ with_all)
    several = len(weight)
    if several == 1:
        return of_effect
    apart = np.diag(of_means) - 2 * with_all + of_effect
    scatter = several / (several - 1) * float(weight**2 @ apart)
    return max(of_effect - scatter, 0.0)


def _posterior(log_likelihood: Floats) -> Floats:
    """[contender, sd, time]: posterior probabilities, the common sd averaged over."""
    likely = 1 / (1 + (_SDS[1:] / _USUAL_SD) ** 2)
    prior = np.append(_NONE, (1 - _NONE) * likely / likely.sum())
    own_of = _ALIKE * np.eye(len(_SDS)) + (1 - _ALIKE) * prior  # [common, own]
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=(1, 2), keepdims=True))
    evidence = np.einsum("hs,cst->cht", own_of, likelihood)
    logs = np.log(np.maximum(evidence, 1e-300))
    joint = logs.sum(axis=0) + np.log(prior)[:, None]
    weight = np.exp(joint - joint.max())
    weight /= weight.sum()
    each = weight / np.maximum(evidence, 1e-300)
    return np.asarray(np.einsum("cht,hs->cst", each, own_of) * likelihood)
