"""Universal Scalability Law: the cost of contention and coherency as workers are added."""

import math
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.rounding import RESOLUTION

FEWEST_LEVELS = 3
RECOMMENDED_LEVELS = 6
REACH = 2.0  # times the most workers measured; the limit of extrapolation
_FEWEST_BLOCKS_TO_RESAMPLE = 5


@dataclass(frozen=True)
class Estimate:
    """A fitted parameter. The interval is NaN if there are too few blocks to resample."""

    value: float
    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        """The interval excludes 0. False without an interval."""
        return self.low > 0


@dataclass(frozen=True)
class ScalingFit:
    """X(N) = rate_of_one * N / (1 + contention (N - 1) + coherency N (N - 1)).

    `peak_workers` is sqrt((1 - contention) / coherency). It is infinite if the data show no peak:
    beyond `reach`, or beyond `most_workers` if the interval of the coherency includes 0. Its
    upper bound is infinite beyond `reach`, its lower bound at most `reach`.
    `provisional` means fewer than the six recommended levels.
    """

    rate_of_one: Estimate
    contention: Estimate
    coherency: Estimate
    peak_workers: Estimate
    most_workers: float
    levels: int
    blocks: int
    confidence: float
    provisional: bool

    @property
    def reach(self) -> float:
        """The most workers to which the fit is extrapolated."""
        return REACH * self.most_workers

    @property
    def has_peak(self) -> bool:
        return math.isfinite(self.peak_workers.value)

    @property
    def speedup_limit(self) -> float:
        """1 / contention, the largest possible speedup (Amdahl 1967); infinite beyond `reach`."""
        contention = self.contention.value
        return 1 / contention if contention * self.reach >= 1 else math.inf

    def rate(self, workers: float) -> float:
        """The fitted rate at `workers`, requests/s."""
        n, sigma, kappa = workers, self.contention.value, self.coherency.value
        return self.rate_of_one.value * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def fit_scaling(
    workers: npt.ArrayLike,
    rates: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> ScalingFit:
    """Fit `rates[block, level]` (requests/s, NaN for no valid trial) at `workers[level]`.

    Gunther (2007). N / X(N) is linear in the parameters, so the fit is least squares of the
    relative error at the geometric mean of each level, with bounded coefficients: coherency
    at least 0, contention from 0 to 1. Intervals are percentiles of a bootstrap over blocks,
    and need five blocks. Raises ValueError for fewer than three levels.
    """
    levels = np.asarray(workers, dtype=float)
    table = np.asarray(rates, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(levels):
        raise ValueError("expected rates[block, level] with one column for each number of workers")
    if len(set(levels.tolist())) < FEWEST_LEVELS or np.any(levels < 1):
        raise ValueError(f"expected at least {FEWEST_LEVELS} levels, each with 1 worker or more")
    logs = np.log(table)
    if not np.all(np.isfinite(logs).any(axis=0)):
        raise ValueError("a level has no valid trial: expected at least one")
    point = _parameters(levels, np.exp(np.nanmean(logs, axis=0)))
    edges = np.full((2, len(point)), np.nan)
    if len(logs) >= _FEWEST_BLOCKS_TO_RESAMPLE:
        tails = [50 * (1 - confidence), 50 * (1 + confidence)]
        draws = _resampled(levels, logs, resamples, seed)
        edges = np.percentile(draws, tails, axis=0, method="inverted_cdf")
    rate_of_one, contention, coherency, peak_workers = (
        Estimate(float(value), float(low), float(high))
        for value, low, high in zip(point, edges[0], edges[1], strict=True)
    )
    most_workers = float(levels.max())
    return ScalingFit(
        rate_of_one=rate_of_one,
        contention=contention,
        coherency=coherency,
        peak_workers=_within_reach(peak_workers, coherency, most_workers),
        most_workers=most_workers,
        levels=len(levels),
        blocks=len(table),
        confidence=confidence,
        provisional=len(levels) < RECOMMENDED_LEVELS,
    )


def _within_reach(peak: Estimate, coherency: Estimate, most_workers: float) -> Estimate:
    """`peak` if the data show it; a coherency that may be 0 has no peak beyond the data."""
    reach = REACH * most_workers
    shown_to = reach if coherency.above_zero else most_workers
    return replace(
        peak,
        value=peak.value if peak.value <= shown_to else math.inf,
        low=reach if peak.low > reach else peak.low,
        high=math.inf if peak.high > reach else peak.high,
    )


def _resampled(levels: Floats, logs: Floats, resamples: int, seed: int) -> Floats:
    """Parameters of fits to blocks drawn with replacement, [draw, parameter]."""
    generator = np.random.default_rng(seed)
    drawn = logs[generator.integers(len(logs), size=(resamples, len(logs)))]
    complete = np.all(np.isfinite(drawn).any(axis=1), axis=1)
    means = np.exp(np.nanmean(drawn[complete], axis=1))
    return np.array([_parameters(levels, mean) for mean in means])


def _parameters(levels: Floats, rates: Floats) -> Floats:
    """rate_of_one, contention, coherency, peak_workers: the best fit within the bounds.

    In N / X(N) = p + q N + r N (N - 1), p, q and r are not negative.
    """
    n = levels
    design = np.stack([np.ones_like(n), n, n * (n - 1)], axis=1) * (rates / n)[:, None]
    p, q, r = _nonnegative_least_squares(design, np.ones_like(n))
    contention, coherency = q / (p + q), r / (p + q)
    peak = math.sqrt((1 - contention) / coherency) if coherency > 0 else math.inf
    return np.array([1 / (p + q), contention, coherency, peak])


def _nonnegative_least_squares(design: Floats, target: Floats) -> Floats:
    """The best non-negative one of the unconstrained fits to each subset of columns.

    A larger subset must improve the fit by more than rounding. Otherwise the processor would decide
    which of two equal fits has the smaller error.
    """
    rounding = RESOLUTION**2 * float((target**2).sum())
    columns = range(design.shape[1])
    subsets = chain.from_iterable(combinations(columns, size + 1) for size in columns)
    best, least = np.zeros(design.shape[1]), math.inf
    for subset in subsets:
        solution = np.linalg.lstsq(design[:, subset], target, rcond=None)[0]
        error = float(((design[:, subset] @ solution - target) ** 2).sum())
        if error < least - rounding and float(solution.min()) >= 0:
            best, least = np.zeros(design.shape[1]), error
            best[list(subset)] = solution
    return best
