"""One additive model of all slices of a race: the numbers that every table reads from.

    log rate = contender + instance (random) + machine state (random walk in a block) + noise

One vector of contender effects gives every ratio, so ratios multiply through, the order is theirs,
and the printed rates have exactly these ratios. Effects are the logs of rates by mean cycle times,
so a pause counts in full (see `weighted_fit`).

Each instance has a witness, which shows where slices and a load without slices disagree.
A pause that comes by the clock while a server is frozen, or that never falls into a slice, shows in
no slice. The end of an instance's warm-up is a load without slices. Instances were warmed at
different times of a noisy machine, so a contender's witness is judged beside those of the others.

Pauses by the clock keep time with slices: one that is due while a server is frozen begins at the
next slice. So where a contender pauses and its witness shows another rate than its slices, its rate
is that of the witness, and its intervals contain both.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.model.contender_effects import EffectEstimate, estimate
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slice_weights import first_look, weighted_fit
from deadheat.stats.model.slices import Indices, SliceArrays
from deadheat.stats.model.variances import learn_variances

_ERROR = 0.01  # over all contenders, that a witness which agrees is taken for one that does not
_ERROR_PAUSING = 0.05  # the same of one contender that pauses
_LEAST_GAP = 0.03  # of a rate; less is no disagreement
_PAUSING = 0.02  # of the time


Flags = npt.NDArray[np.bool_]


def pausing(paused: Floats, silent: Floats) -> Flags:
    """The contenders that pause for more of the time than the one that pauses least.

    Both have a share of the time for each contender (see `SliceArrays`). What the least one has is
    the machine's.
    """
    share = np.maximum(paused, silent)
    return np.asarray(share > share.min(initial=np.inf) + _PAUSING)


def witness_gaps(
    log_rate: Floats, witness: Floats, contender: Indices, pauses: Flags
) -> tuple[Floats, Flags]:
    """What the witness of each contender exceeds its slices by, as a log ratio; and which are sure.

    `log_rate` and `witness` have a value for each instance: the log of its mean rate in slices and
    of that without them, NaN where it has none. The median of the contenders' mean gaps is taken
    off, because it is the machine's: of those that do not pause, if there are any. `pauses` marks
    the contenders that do.

    A gap that chance explains is 0: a two-sided t test over all contenders, whose scatter learns
    from the others' (see `variances`). A contender that pauses has a reason for a gap, so its test
    is for it alone; and one whose witness is lower has a gap that is not sure without any test: the
    pauses may lie in the discarded parts of its slices.
    """
    contenders = len(pauses)
    gaps, sure = np.zeros(contenders), np.zeros(contenders, dtype=bool)
    known = np.isfinite(witness) & np.isfinite(log_rate)
    difference, who = (witness - log_rate)[known], contender[known]
    count = np.bincount(who, minlength=contenders)
    several = count > 1
    if several.sum() < 2:
        return gaps, sure
    mean = np.bincount(who, difference, contenders) / np.maximum(count, 1)
    squares = np.bincount(who, (difference - mean[who]) ** 2, contenders)
    own = np.where(several, squares / np.maximum(count - 1, 1), np.nan)
    variance, degrees = learn_variances(own, np.maximum(count - 1, 0).astype(float))
    steady = several & ~pauses
    away = mean - np.median(mean[steady if steady.any() else several])
    errors = np.sqrt(variance / np.maximum(count, 1))
    alone = t_critical(_ERROR_PAUSING / 2, degrees)
    reach = np.where(pauses, alone, t_critical(_ERROR / 2 / several.sum(), degrees)) * errors
    sure = several & (np.abs(away) > np.maximum(reach, _LEAST_GAP))
    disagrees = sure | (several & pauses & (away < -_LEAST_GAP))
    gaps[disagrees] = away[disagrees]
    return gaps, sure


def instance_log_rates(log_rate: Floats, weight: Floats, instance: Indices, count: int) -> Floats:
    """The log of the mean rate of each instance, over the cycles of its slices."""
    served = np.bincount(instance, weight, count)
    took = np.bincount(instance, weight * np.exp(-log_rate), count)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(served / took))


_MOST_SILENT = 0.99  # of the time


@dataclass(frozen=True)
class ModelFit:
    """The model of one race. Arrays hold one value per contender.

    `witness_gap` is the log of a contender's rate without slices over that in them, where they
    disagree, else 0 (see `witness_gaps`). `without_slices` marks the contenders that pause and
    whose gap is sure: their effects contain it.

    `silent_gap` is the log of a contender's rate over that with its silent windows counted, at
    least 0. A pause by the clock that is due when a frozen server is thawed lies in the discarded
    part and in the window: the requests that are followed miss all such pauses, and the silent
    windows show too many. So the truth lies between the two.
    """

    estimate: EffectEstimate
    slices: npt.NDArray[np.int64]
    instances: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    witness_gap: Floats
    without_slices: Flags
    silent_gap: Floats


def fit_slices(slices: SliceArrays) -> ModelFit:
    """Fit the model; ValueError without slices. A contender of one instance has no interval."""
    if not len(slices):
        raise ValueError("no slices to fit")
    layout = Layout.of(slices)
    first = first_look(layout)
    fit = weighted_fit(layout, first)
    count = layout.contenders
    slice_counts = np.bincount(layout.contender, minlength=count)
    _, block = np.unique(layout.block, return_inverse=True)
    cells = np.unique(layout.contender * (int(block[-1]) + 1) + block)
    effects = estimate(layout, fit)
    pauses = pausing(slices.paused, slices.silent)
    gap, sure = _witness_gaps(slices, pauses)
    without_slices = sure & pauses
    silent_gap = -np.log1p(-np.minimum(slices.silent, _MOST_SILENT))
    effects = replace(
        effects,
        log_rate=effects.log_rate + np.where(without_slices, gap, 0.0),
        disagreement=np.abs(gap[:, None] - gap)
        + (silent_gap[:, None] + silent_gap) * (1 - np.eye(count)),
    )
    return ModelFit(
        estimate=effects,
        slices=slice_counts,
        instances=np.bincount(layout.contender_of, minlength=count),
        blocks=np.bincount(cells // (int(block[-1]) + 1), minlength=count),
        witness_gap=gap,
        without_slices=without_slices,
        silent_gap=silent_gap,
    )


def _witness_gaps(slices: SliceArrays, pauses: Flags) -> tuple[Floats, Flags]:
    _, first, instance = np.unique(slices.instance, return_index=True, return_inverse=True)
    log_rate = instance_log_rates(slices.log_rate, slices.weight, instance, len(first))
    return witness_gaps(log_rate, slices.witness[first], slices.contender[first], pauses)
