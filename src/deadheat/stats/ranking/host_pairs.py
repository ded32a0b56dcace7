"""One model and one ranking of runs on several pairs of hosts, linked by shared contenders.

    log rate = contender + run (fixed) + contender on this pair of hosts (random) + error of the run

A run's level takes up how fast its pair is, so only ratios within runs count, and contenders of
different runs are compared through shared ones. A contender that ran on one pair does not show
what that pair does to it alone: the variance of this interaction is learned from the shared
contenders (REML, Patterson & Thompson 1971), and is a part of every interval. So ratios hold for a
pair of hosts like these. Degrees of freedom: Satterthwaite (1946), over the errors of the runs and
this variance, whose own error is that of its information (Searle, Casella & McCulloch 1992, 6.6).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, without_rounding
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slices import Indices
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.model_ranking import ModelRatios
from deadheat.stats.ranking.pairs import PairFits
from deadheat.stats.ranking.ranks import Ranking, competitors, linked_order, ranking_of
from deadheat.stats.ranking.ratio import RatioInterval

_MOST_DOUBLINGS = 60
_RIDGE = 1e-9  # of the mean variance: rates without any error can still be solved for
_KEPT = 1e-9  # of the largest eigenvalue
_TOLERANCE = 1e-4  # of the interaction variance


@dataclass(frozen=True)
class HostPairRun:
    """One run: what it says of its contenders, and on which pair of hosts.

    `contender` are indices, each once; `log_rate` has a value for each of them, `variance` and
    `degrees_of_freedom` [contender, contender] are those of their log ratios, NaN where the run
    does not link two. `witness_gap` and `silent_gap` are those of `ModelFit`.
    """

    host_pair: int
    contender: Indices
    log_rate: Floats
    variance: Floats
    degrees_of_freedom: Floats
    witness_gap: Floats
    silent_gap: Floats

    def linked(self) -> "HostPairRun":
        """The run with the contenders that have intervals to each other; the most there are."""
        known = np.isfinite(self.variance) & np.isfinite(self.degrees_of_freedom)
        np.fill_diagonal(known, np.isfinite(self.log_rate))
        if not len(known):
            return self
        chosen = np.flatnonzero(known[int(known.sum(axis=1).argmax())])
        chosen = chosen[known[np.ix_(chosen, chosen)].all(axis=1)]
        square = np.ix_(chosen, chosen)
        return replace(
            self,
            contender=self.contender[chosen],
            log_rate=self.log_rate[chosen],
            variance=self.variance[square],
            degrees_of_freedom=self.degrees_of_freedom[square],
            witness_gap=self.witness_gap[chosen],
            silent_gap=self.silent_gap[chosen],
        )


@dataclass(frozen=True)
class Contrasts:
    """Effects with the variances and degrees of freedom of their differences [effect, effect].

    Effects are relative to their mean; NaN without data. A variance is NaN where the runs do not
    link two effects, degrees of freedom also where the variance between pairs is unknown.
    `disagreement` is how far the gaps of the runs' rates, weighted as these, may move a difference.
    """

    effect: Floats
    variance: Floats
    degrees_of_freedom: Floats
    disagreement: Floats


@dataclass(frozen=True)
class HostPairFit:
    """The model of all runs.

    `interaction_sd` is the standard deviation of what a pair of hosts does to one contender
    alone, in log units, and `interaction_degrees` how many differences it is learned from; with 0
    nothing is known of it. A single pair needs none: its ratios hold for that pair.
    `host_pairs` are their speeds while they were measured. `level` is the mean log rate of the
    contenders at the mean of the pairs.
    """

    contenders: Contrasts
    host_pairs: Contrasts
    interaction_sd: float
    interaction_degrees: int
    level: float


@dataclass(frozen=True)
class _Rows:
    """The rates of all runs in one array each; `noise` is the covariance of their errors."""

    run: Indices
    host_pair: Indices
    contender: Indices
    log_rate: Floats
    witness_gap: Floats
    silent_gap: Floats
    noise: Floats
    shared: Floats  # [row, row]: 1 where contender and pair of hosts are the same
    design: Floats


def fit_host_pairs(
    runs: Sequence[HostPairRun], contenders: int, host_pairs: int
) -> HostPairFit | None:
    """Fit the model; None where no run compares two contenders."""
    runs = [linked for run in runs if len((linked := run.linked()).contender) > 1]
    if not runs:
        return None
    rows = _rows(runs, contenders)
    single = len({run.host_pair for run in runs}) == 1
    degrees = 0 if single else _interaction_degrees(rows)
    variance = _interaction_variance(rows) if degrees else 0.0
    solution = _Solution.of(rows, variance)
    variance_error = _variance_error(solution, degrees, single)
    to_contenders = np.eye(contenders, rows.design.shape[1])
    to_pairs = np.zeros((host_pairs, rows.design.shape[1]))
    for place, run in enumerate(runs):
        to_pairs[run.host_pair, contenders + place] = 1.0
    to_pairs /= np.maximum(to_pairs.sum(axis=1, keepdims=True), 1.0)
    of_contenders = _contrasts(runs, solution, to_contenders, variance, variance_error)
    of_pairs = _contrasts(runs, solution, to_pairs, variance, variance_error)
    levels = [
        float((choice @ solution.effects)[np.isfinite(contrasts.effect)].mean())
        for choice, contrasts in ((to_contenders, of_contenders), (to_pairs, of_pairs))
    ]
    return HostPairFit(
        contenders=of_contenders,
        host_pairs=of_pairs,
        interaction_sd=float(np.sqrt(variance)),
        interaction_degrees=degrees,
        level=sum(levels),
    )


def _rows(runs: Sequence[HostPairRun], contenders: int) -> _Rows:
    sizes = [len(run.contender) for run in runs]
    run = np.repeat(np.arange(len(runs)), sizes)
    host_pair = np.repeat([each.host_pair for each in runs], sizes)
    contender = np.concatenate([each.contender for each in runs])
    count = len(run)
    noise = np.zeros((count, count))
    for place, each in enumerate(runs):
        mine = np.flatnonzero(run == place)
        noise[np.ix_(mine, mine)] = _covariance(each.variance)
    design = np.zeros((count, contenders + len(runs)))
    design[np.arange(count), contender] = 1.0
    design[np.arange(count), contenders + run] = 1.0
    alike = (host_pair[:, None] == host_pair) & (contender[:, None] == contender)
    log_rate, witness_gap, silent_gap = (
        np.concatenate([getattr(each, name) for each in runs])
        for name in ("log_rate", "witness_gap", "silent_gap")
    )
    shared = alike.astype(float)
    return _Rows(
        run, host_pair, contender, log_rate, witness_gap, silent_gap, noise, shared, design
    )


def _covariance(variance: Floats) -> Floats:
    """A covariance whose differences have these variances (Gower 1966).

    The level of a run is fitted, so its own variance changes no ratio of contenders. It is that of
    the mean of independent errors, which the speed of a pair of hosts has.
    """
    count = len(variance)
    center = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * center @ variance @ center)
    typical = max(float(variance.sum()) / max(count * (count - 1), 1), 1e-12)
    covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(covariance + typical / (2 * count) + _RIDGE * typical * np.eye(count))


@dataclass(frozen=True)
class _Solution:
    """Generalized least squares; `loads` [effect, row] turns log rates into effects."""

    rows: _Rows
    effects: Floats
    loads: Floats
    projection: Floats  # [row, row]: what the residuals leave of the inverse covariance

    @classmethod
    def of(cls, rows: _Rows, variance: float) -> "_Solution":
        inverse = np.linalg.inv(rows.noise + variance * rows.shared)
        right = inverse @ rows.design
        values, vectors = np.linalg.eigh(rows.design.T @ right)
        kept = values > _KEPT * values.max()
        loads = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T @ right.T
        return cls(rows, loads @ rows.log_rate, loads, inverse - right @ loads)

    def surplus(self) -> float:
        """The score of the variance between pairs: above 0 where the residuals ask for more."""
        pull = self.projection @ self.rows.log_rate
        return float(pull @ self.rows.shared @ pull - (self.projection * self.rows.shared).sum())

    def information(self) -> float:
        """Twice the information on the variance between pairs."""
        product = self.projection @ self.rows.shared
        return float((product * product.T).sum())


def _interaction_degrees(rows: _Rows) -> int:
    """How many differences show the interaction: the cells that contenders and runs leave."""
    _, cell = np.unique(rows.shared, axis=0, return_inverse=True)
    cells = np.eye(int(cell.max()) + 1)[cell.ravel()]
    both = np.linalg.matrix_rank(np.concatenate([rows.design, cells], axis=1))
    return int(both - np.linalg.matrix_rank(rows.design))


def _interaction_variance(rows: _Rows) -> float:
    """The variance at which the score is 0; 0 if it is not above 0 without any."""
    if _Solution.of(rows, 0.0).surplus() <= 0:
        return 0.0
    low, high = 0.0, float(np.diag(rows.noise).mean())
    for _ in range(_MOST_DOUBLINGS):
        if _Solution.of(rows, high).surplus() <= 0:
            break
        low, high = high, 4 * high
    while high - low > _TOLERANCE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _Solution.of(rows, middle).surplus() > 0 else (low, middle)
    return (low + high) / 2


def _variance_error(solution: _Solution, degrees: int, single: bool) -> float:
    """Half the variance of the estimated interaction variance; infinite if nothing is known.

    It stays above 0 where the estimate is 0.
    """
    if single:
        return 0.0
    return 1 / solution.information() if degrees else float("inf")


def _contrasts(
    runs: Sequence[HostPairRun],
    solution: _Solution,
    choice: Floats,
    variance: float,
    variance_error: float,
) -> Contrasts:
    """The differences of the effects that each row of `choice` [row, effect of the model] sums."""
    rows, loads = solution.rows, choice @ solution.loads
    weights = loads[:, None, :] - loads
    inner = loads @ rows.shared @ loads.T
    own = np.diag(inner)
    shared = np.maximum(own[:, None] + own - 2 * inner, 0.0)
    total = variance * shared
    uncertainty = shared**2 * (variance_error if np.isfinite(variance_error) else 0.0)
    for place, run in enumerate(runs):
        mine = np.flatnonzero(rows.run == place)
        part = weights[:, :, mine]
        noise = rows.noise[np.ix_(mine, mine)]
        brought = np.maximum(((part @ noise) * part).sum(axis=2), 0.0)
        total += brought
        uncertainty += brought**2 * _inverse_degrees(run, np.abs(part))
    linked = _linked(rows, choice)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = total**2 / uncertainty
    known = linked & np.isfinite(degrees) & np.isfinite(variance_error)
    seen = linked.any(axis=1)
    effects = choice @ solution.effects
    return Contrasts(
        effect=np.where(seen, effects - effects[seen].mean(), np.nan),
        variance=np.where(linked, total, np.nan),
        degrees_of_freedom=np.where(known, degrees, np.nan),
        disagreement=np.abs(weights @ rows.witness_gap) + np.abs(weights) @ rows.silent_gap,
    )


def _inverse_degrees(run: HostPairRun, size: Floats) -> Floats:
    """1 / degrees of freedom of what a run brings: its pairs' mean, by their share of the weights.

    `size` [effect, effect, contender of the run] are the absolute weights.
    """
    inverse = np.zeros_like(run.variance)
    apart = ~np.eye(len(inverse), dtype=bool)
    inverse[apart] = 1 / np.maximum(run.degrees_of_freedom[apart], 1e-9)
    by_pair = np.where(apart, run.variance, 0.0)
    total = ((size @ by_pair) * size).sum(axis=2)
    mean = ((size @ (by_pair * inverse)) * size).sum(axis=2)
    return np.asarray(np.divide(mean, total, out=np.zeros_like(total), where=total > 0))


def _linked(rows: _Rows, choice: Floats) -> npt.NDArray[np.bool_]:
    """Which of the chosen effects the runs link through contenders in common."""
    together = (rows.design.T @ rows.design) > 0
    for _ in range(int(np.ceil(np.log2(max(len(together), 2))))):
        together = (together.astype(float) @ together.astype(float)) > 0
    chosen = (choice != 0).astype(float)
    return np.asarray((chosen @ together @ chosen.T) > 0)


class HostPairRatios(ModelRatios):
    """Ratios over several pairs of hosts: another sentence on the method."""

    def _method(self, a: int, b: int) -> str:
        if a == b:
            return "the same contender"
        degrees = float(self.fits.degrees_of_freedom[a, b])
        if math.isnan(degrees):
            return "no interval: too few contenders that ran on several pairs of hosts"
        return (
            "runs linked by shared contenders; variance between pairs of hosts learned from these; "
            f"t, {degrees:.1f} df; {self.level_text}"
        )


def rank_over_host_pairs(
    fit: HostPairFit,
    names: Sequence[str],
    *,
    margin: float = 0.03,
    confidence: float = 0.95,
    share: float = 1.0,
    controls: Collection[str] = (),
) -> Ranking:
    """Rank the contenders of `fit`; `names` has one name per contender index.

    A row's `rate_median` is the rate at the mean of the pairs of hosts. `controls` take part in the
    model, not in the order. There is no effort: more time on these hosts does not shrink the
    variance between them.
    """
    effect, variance = fit.contenders.effect, fit.contenders.variance
    competing = competitors(names, len(effect), controls)
    order = linked_order(effect, variance, competing)
    return ranking_of(
        pair_fits(fit.contenders).of(order),
        [names[k] for k in order],
        np.exp(fit.level + effect[order]),
        unranked=[name for k, name in enumerate(names) if competing[k] and k not in order],
        margin=margin,
        confidence=confidence,
        share=share,
        ratios_as=HostPairRatios,
        more_time_helps=False,
    )


def host_pair_speeds(fit: HostPairFit, confidence: float = 0.95) -> tuple[RatioInterval, ...]:
    """The speed of each pair of hosts over that of the first; jointly at `confidence`."""
    level = ErrorLevel(confidence, max(len(fit.host_pairs.effect) - 1, 1))
    ratios = HostPairRatios(pair_fits(fit.host_pairs), level)
    return tuple(ratios.interval(place, 0) for place in range(len(fit.host_pairs.effect)))


def pair_fits(contrasts: Contrasts) -> PairFits:
    """The differences as `Ratios` reads them; it has no parts for slices and starts."""
    count = len(contrasts.effect)
    known = ~np.eye(count, dtype=bool) & np.isfinite(contrasts.variance)
    usable = known & np.isfinite(contrasts.degrees_of_freedom)
    log_ratio = without_rounding(contrasts.effect[:, None] - contrasts.effect[None, :])
    return PairFits(
        log_ratio=np.where(known, log_ratio, np.nan),
        standard_error=np.where(usable, np.sqrt(contrasts.variance), np.nan),
        degrees_of_freedom=np.where(usable, contrasts.degrees_of_freedom, np.nan),
        slice_variance=np.full((count, count), np.nan),
        start_variance=np.full((count, count), np.nan),
        blocks=np.zeros((count, count), dtype=np.int64),
        invocations=np.zeros((count, count), dtype=np.int64),
        indirect=np.zeros((count, count), dtype=bool),
        disagreement=contrasts.disagreement,
    )


def estimate_of(fit: HostPairFit) -> EffectEstimate:
    """The model of several runs as that of one; the fewest degrees of a contender's pairs count."""
    of_pairs = np.where(
        np.eye(len(fit.contenders.effect), dtype=bool), np.inf, fit.contenders.degrees_of_freedom
    )
    unknown = np.full(len(of_pairs), np.nan)
    return EffectEstimate(
        log_rate=fit.level + fit.contenders.effect,
        variance=fit.contenders.variance,
        degrees_of_freedom=fit.contenders.degrees_of_freedom,
        instance_variance=unknown,
        slice_variance=unknown,
        contender_degrees=np.nanmin(of_pairs, axis=1),
        disagreement=fit.contenders.disagreement,
    )
