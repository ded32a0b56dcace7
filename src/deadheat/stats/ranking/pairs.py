"""Paired comparison of all contenders, block by block: the hierarchical fit behind each ratio.

The model of one log-ratio d, for invocation i and block b of a pair:

    d[i, b] = delta + start[i] + slice[i, b]

`start` is the effect of a fresh start of the two servers (address layout, compiler), and
`slice` the effect of one short load. What the machine does to both cancels, because both are
measured in the same block.

Three invocations leave 2 degrees of freedom for the start-to-start variance of one pair,
and a t interval with them is useless (4.3 standard errors at 95 %, 40 at the level that a
table of eight needs). So the *ratio* of the between-invocation to the within-invocation
mean square is pooled over all pairs of the run: (invocations - 1) x (contenders - 1)
degrees of freedom. Each pair keeps its own slice variance, moderated by that of the others if
it has few blocks (see `model.variances`). If its own starts scatter more than the pool, its
own mean square is used instead.

Chosen by simulation (4 or 8 contenders, 3 invocations of 4 to 20 blocks; start-to-start
variance, t3 tails, autocorrelation 0.5, slice noise differing fivefold), errors against a
nominal 5 %: the plain t 5 %, but four to seven times as wide at the level of a table of
eight; one variance pooled over all contenders up to 24 %; the pooled ratio alone up to 15 %;
the larger of the pooled and the own ratio up to 7 %. One assumption remains, and is stated
with every interval: the starts of all contenders scatter in the same proportion to their
slices. If the starts of one contender scatter as widely as its slices and those of the others
do not scatter at all, up to 15 % of its comparisons are falsely separated. More invocations
reduce this.

Contenders that shared no block are compared through one that ran with both. The fits also give the
smallest difference that a run can detect.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical, t_tail, without_rounding
from deadheat.stats.model.variances import FEWEST_CONTENDERS, contender_variances, moderate

VALID_SHARE_MIN = 0.5

Place = tuple[int, int, int]  # invocation, heat, block


def rate_matrix(rates: Mapping[str, Mapping[Place, float]], places: Iterable[Place]) -> Floats:
    """rates[start, block, name], in the order of `rates`; NaN where there is no valid rate.

    A start is one invocation of one heat. `places` are all blocks of the run: a block without
    a valid rate keeps its place.
    """
    ordered = sorted(set(places))
    starts = sorted({place[:2] for place in ordered})
    columns = {start: [block for *at, block in ordered if tuple(at) == start] for start in starts}
    longest = max(map(len, columns.values()), default=0)
    array = np.full((len(starts), longest, len(rates)), np.nan)
    for index, by_place in enumerate(rates.values()):
        for (invocation, heat, block), rate in by_place.items():
            start = (invocation, heat)
            array[starts.index(start), columns[start].index(block), index] = rate
    return array


def rankable(rates: Mapping[str, Sequence[object]], blocks: float) -> list[str]:
    """The names with valid rates in at least half of the blocks of a heat."""
    return [name for name, valid in rates.items() if len(valid) >= max(1, VALID_SHARE_MIN * blocks)]


PRECISION = 0.03  # of the rate: a run of one contender ends when its rate is known this well
REQUESTS_FOR_P99 = 10_000  # a quantile q needs 100 / (1 - q)


def half_width(rates: Mapping[Place, float], confidence: float = 0.95) -> float:
    """Half width of the log rate's interval, from rates by place; infinite for one instance.

    The unit is the instance: the mean log rate of each counts once, and their scatter contains that
    of slices and of the machine (Student's t). Nothing cancels a change of the machine here.
    """
    by_instance: dict[int, list[float]] = {}
    for (instance, *_), rate_per_s in rates.items():
        by_instance.setdefault(instance, []).append(math.log(rate_per_s))
    means = [statistics.fmean(logs) for logs in by_instance.values()]
    if len(means) < 2:
        return math.inf
    error = statistics.stdev(means) / math.sqrt(len(means))
    return float(t_critical((1 - confidence) / 2, len(means) - 1)) * error


def is_known(rates: Mapping[Place, float], requests: float, confidence: float = 0.95) -> bool:
    """Whether the rate is known to `PRECISION`, and the requests support a p99."""
    return half_width(rates, confidence) <= math.log1p(PRECISION) and requests >= REQUESTS_FOR_P99


_FEWEST_DEGREES_BELOW_A_RATIO = 3


@dataclass(frozen=True)
class PairFits:
    """All pairs of one run; each field is a matrix [contender, contender].

    `log_ratio[a, b]` is ln(rate of a / rate of b), a geometric mean over blocks; it is
    antisymmetric, the others are symmetric. Values are NaN for two contenders that shared no
    block; the standard error and the degrees of freedom also for those that shared too few
    blocks or invocations for an interval. `indirect` marks pairs compared through a third
    contender (see `stats.indirect`). `disagreement` is how far the log-ratio without slices is from
    `log_ratio`, where the two disagree beyond chance, else 0: intervals contain both.
    """

    log_ratio: Floats
    standard_error: Floats
    degrees_of_freedom: Floats
    slice_variance: Floats
    start_variance: Floats
    blocks: npt.NDArray[np.int64]
    invocations: npt.NDArray[np.int64]
    indirect: npt.NDArray[np.bool_]
    disagreement: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        if not self.disagreement.size:
            object.__setattr__(self, "disagreement", np.zeros(self.log_ratio.shape))

    @property
    def contenders(self) -> int:
        return int(self.log_ratio.shape[0])

    def of(self, chosen: npt.NDArray[np.intp]) -> "PairFits":
        """The pairs among the `chosen` contenders, in that order."""
        square = np.ix_(chosen, chosen)
        return PairFits(**{each.name: getattr(self, each.name)[square] for each in fields(self)})

    def half_width(self, alpha: float) -> Floats:
        """Half width of the two-sided 1 - alpha intervals of all log-ratios."""
        within = t_critical(alpha / 2, self.degrees_of_freedom) * self.standard_error
        return np.asarray(within + self.disagreement)

    def probability_faster(self) -> Floats:
        """P(a faster than b): the t distribution of the log-ratio, above 0.

        This is the confidence distribution of the ratio of the two geometric mean rates over
        fresh starts (with a flat prior, its posterior). It is not the chance that one slice of
        a beats one slice of b, and it is not corrected for multiple comparisons.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            score = self.log_ratio / self.standard_error
        even = (self.standard_error == 0) & (self.log_ratio == 0)
        return 1 - t_tail(np.where(even, 0.0, score), self.degrees_of_freedom)


def fit_pairs(rates: npt.ArrayLike) -> PairFits:
    """Fit all pairs of `rates[invocation, block, contender]`, in requests per second.

    NaN marks a trial that failed its gates or was not run; a pair uses the blocks in which
    both were measured. A pair with one invocation in common has no interval.
    Raises ValueError for another shape, or a rate that is not above 0.
    """
    rates = np.asarray(rates, dtype=float)
    if rates.ndim != 3:
        raise ValueError(f"rates have {rates.ndim} axes: expected [invocation, block, contender]")
    if np.any(rates <= 0) or np.any(np.isinf(rates)):
        raise ValueError("expected positive rates, or NaN for a trial that does not count")
    logs = np.log(rates)
    cells = int(np.isfinite(rates).any(axis=1).sum())
    return _fit(logs[:, :, :, None] - logs[:, :, None, :], cells)


@dataclass(frozen=True)
class _Invocations:
    """The differences of every pair in each invocation: [invocation, a, b]."""

    means: Floats
    counts: Floats
    within: Floats
    degrees: Floats


@dataclass(frozen=True)
class _Pool:
    """The start-to-start variance, pooled over all pairs."""

    ratio: float
    start_share: float
    degrees: float


def _fit(differences: Floats, cells: int) -> PairFits:
    """Random-effects means of `differences[invocation, block, a, b]`.

    Moment estimators of the one-way layout with unequal groups, and means weighted by
    inverse variance: Searle, Casella & McCulloch, Variance Components (1992), chapter 3.
    Degrees of freedom of a product of two mean squares: Satterthwaite (1946).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        starts = _summarize(differences)
        counts, within = starts.counts, starts.within
        moderated, slice_degrees = _moderated(within, starts.degrees)
        blocks, invocations = counts.sum(axis=0), (counts > 0).sum(axis=0)
        several = invocations > 1
        size = (blocks - (counts**2).sum(axis=0) / blocks) / (invocations - 1)
        center = (counts * starts.means).sum(axis=0) / blocks
        scatter = (counts * without_rounding(starts.means - center) ** 2).sum(axis=0)
        between = np.where(several, scatter / (invocations - 1), np.nan)
        own_ratio = np.where((between == 0) & (within == 0), 1.0, between / moderated)
        pool = _pool(own_ratio, size, starts, slice_degrees, cells)

        own_start_variance = np.where(several, (between - within) / size, 0.0)
        start_variance = np.fmax(pool.start_share * moderated, np.fmax(own_start_variance, 0.0))
        slice_variance = moderated * np.fmin(np.fmax(pool.ratio, own_ratio), 1.0)
        variance = np.where(counts > 0, start_variance + slice_variance / counts, np.inf)
        exact = (variance == 0).any(axis=0)
        weights = np.where(exact, counts, 1 / variance)
        log_ratio = (weights * starts.means).sum(axis=0) / weights.sum(axis=0)
        standard_error = np.where(exact, 0.0, 1 / np.sqrt(weights.sum(axis=0)))
        degrees_of_freedom = 1 / (1 / pool.degrees + 1 / slice_degrees)

    other = ~np.eye(len(blocks), dtype=bool)
    usable = other & (starts.degrees > 0) & several
    return PairFits(
        log_ratio=np.where(other, without_rounding(log_ratio), np.nan),
        standard_error=np.where(usable, standard_error, np.nan),
        degrees_of_freedom=np.where(usable, degrees_of_freedom, np.nan),
        slice_variance=np.where(usable, slice_variance, np.nan),
        start_variance=np.where(usable, start_variance, np.nan),
        blocks=blocks.astype(np.int64),
        invocations=invocations.astype(np.int64),
        indirect=np.zeros_like(usable),
    )


def _summarize(differences: Floats) -> _Invocations:
    measured = np.isfinite(differences)
    counts = measured.sum(axis=1).astype(float)
    means = np.where(measured, differences, 0.0).sum(axis=1) / np.maximum(counts, 1)
    residuals = np.where(measured, without_rounding(differences - means[:, None]), 0.0)
    degrees = np.maximum(counts - 1, 0).sum(axis=0)
    squares = (residuals**2).sum(axis=(0, 1))
    return _Invocations(
        means=means,
        counts=counts,
        within=squares / degrees,
        degrees=degrees,
    )


def _moderated(within: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Moderated slice variances of all pairs, and their degrees of freedom.

    A pair's variance is the sum of those of its contenders (degrees by Satterthwaite 1946). With
    too few contenders to estimate these, it is the variance of the pair's own differences.
    """
    contenders = len(within)
    others = within[~np.eye(contenders, dtype=bool)]
    if contenders < FEWEST_CONTENDERS or not (np.isfinite(others) & (others > 0)).any():
        return within, degrees
    own_degrees = np.nanmedian(np.where(np.eye(contenders, dtype=bool), np.nan, degrees), axis=1)
    most = float(np.nanmedian(own_degrees)) * (contenders - 1)
    own, prior = moderate(contender_variances(within), own_degrees, most)
    total, all_degrees = own[:, None] + own[None, :], own_degrees + prior
    parts = own**2 / all_degrees
    return total, total**2 / (parts[:, None] + parts[None, :])


def _pool(
    own_ratio: Floats, size: Floats, starts: _Invocations, slice_degrees: Floats, cells: int
) -> _Pool:
    """The mean ratio of mean squares over all pairs with enough data.

    Without a start effect, a ratio of mean squares has the mean n / (n - 2), n the degrees of
    freedom of the denominator; this is divided out. `cells` counts the pairs (invocation,
    contender) with data. Without a usable pair the degrees are NaN.
    """
    upper = np.triu(np.isfinite(own_ratio), k=1)
    upper &= slice_degrees >= _FEWEST_DEGREES_BELOW_A_RATIO
    invocations = (starts.counts > 0).any(axis=(1, 2)).sum()
    contenders = (starts.counts > 0).any(axis=(0, 1)).sum()
    if not upper.any():
        return _Pool(ratio=np.nan, start_share=0.0, degrees=np.nan)
    denominator_degrees = slice_degrees[upper]
    ratio = float(np.mean(own_ratio[upper] * (denominator_degrees - 2) / denominator_degrees))
    return _Pool(
        ratio=ratio,
        start_share=max(ratio - 1, 0.0) / float(np.mean(size[upper])),
        degrees=float(cells - invocations - contenders + 1),
    )


def fill_indirect(fits: PairFits) -> PairFits:
    """Fill in each pair that shares no block, through the third contender that is most precise.

    ln(a / c) = ln(a / b) + ln(b / c), with variances added (Bucher et al. 1997) and degrees
    of freedom by Welch and Satterthwaite. The heats of a race share the controls for this.
    What the machine changes between heats cancels only as far as it affects a contender and
    the control alike. Pairs without a third contender stay as they are.
    """
    variance = fits.standard_error**2
    legs = variance[:, :, None] + variance[None, :, :]
    third = np.where(np.isnan(legs), np.inf, legs).argmin(axis=1)
    connected = np.isfinite(legs).any(axis=1) & ~np.eye(fits.contenders, dtype=bool)
    missing = np.isnan(fits.log_ratio) & connected
    first, last = np.indices(missing.shape)

    def joined(matrix: Any, join: Callable[[Any, Any], Any]) -> Any:
        return np.where(missing, join(matrix[first, third], matrix[third, last]), matrix)

    standard_error = joined(fits.standard_error, np.hypot)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = variance**2 / fits.degrees_of_freedom
        welch = standard_error**4 / joined(share, np.add)
    return replace(
        fits,
        log_ratio=without_rounding(joined(fits.log_ratio, np.add)),
        standard_error=standard_error,
        degrees_of_freedom=np.where(missing, welch, fits.degrees_of_freedom),
        slice_variance=joined(fits.slice_variance, np.add),
        start_variance=joined(fits.start_variance, np.add),
        blocks=joined(fits.blocks, np.minimum),
        invocations=joined(fits.invocations, np.minimum),
        indirect=missing,
    )


def detectable_ratio(fits: PairFits, alpha: float, power: float = 0.8) -> Floats:
    """Minimum detectable ratio of every pair, minus 1: 0.02 is a difference of 2 %.

    (t[1 - alpha/2] + t[power]) standard errors and the disagreement, on logs: the true difference
    that a two-sided test at `alpha` detects with probability `power`. Matrix [contender,
    contender]; infinite where the degrees of freedom are too few for the ratio to be a float.
    """
    if not 0.5 < power < 1:
        raise ValueError(f"power {power}: expected a number between 0.5 and 1")
    reach = t_critical(alpha / 2, fits.degrees_of_freedom)
    reach = reach + t_critical(1 - power, fits.degrees_of_freedom)
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(reach * fits.standard_error + fits.disagreement))


def minimum_detectable_effect(fits: PairFits, alpha: float, power: float = 0.8) -> float:
    """The figure for a run: the median of `detectable_ratio` over its pairs; NaN without pairs."""
    upper = np.triu_indices(fits.contenders, k=1)
    ratios = detectable_ratio(fits, alpha, power)[upper]
    ratios = ratios[np.isfinite(ratios)]
    return float(np.median(ratios)) if ratios.size else math.nan
