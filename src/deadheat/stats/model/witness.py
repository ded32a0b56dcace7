"""Where slices and a load without slices disagree: the witness of each instance.

A pause that comes by the clock while a server is frozen, or that never falls into a slice, shows in
no slice. The end of an instance's warm-up is a load without slices. Instances were warmed at
different times of a noisy machine, so a contender's witness is judged beside those of the others.
"""

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.model.slices import Indices
from deadheat.stats.model.variances import learn_variances

_ERROR = 0.01  # over all contenders, that a witness which agrees is taken for one that does not
_LEAST_GAP = 0.03  # of a rate; less is no disagreement
_PAUSING = 0.02  # of the time


def witness_gaps(log_rate: Floats, witness: Floats, contender: Indices, paused: Floats) -> Floats:
    """What the witness of each contender exceeds its slices by, as a log ratio.

    `log_rate` and `witness` have a value for each instance: the log of its mean rate in slices and
    of that without them, NaN where it has none. The median of the contenders' mean gaps is taken
    off, because it is the machine's. `paused` has the share of its time in pauses for each.

    A gap that chance explains is 0: a two-sided t test over all contenders, whose scatter learns
    from the others' (see `variances`). Where a contender pauses, a witness that is lower
    needs no test: the pauses may lie in the discarded parts of its slices.
    """
    contenders = len(paused)
    gaps = np.zeros(contenders)
    known = np.isfinite(witness) & np.isfinite(log_rate)
    difference, who = (witness - log_rate)[known], contender[known]
    count = np.bincount(who, minlength=contenders)
    several = count > 1
    if several.sum() < 2:
        return gaps
    mean = np.bincount(who, difference, contenders) / np.maximum(count, 1)
    squares = np.bincount(who, (difference - mean[who]) ** 2, contenders)
    own = np.where(several, squares / np.maximum(count - 1, 1), np.nan)
    variance, degrees = learn_variances(own, np.maximum(count - 1, 0).astype(float))
    away = mean - np.median(mean[several])
    errors = np.sqrt(variance / np.maximum(count, 1))
    reach = t_critical(_ERROR / 2 / several.sum(), degrees) * errors
    beyond_chance = np.abs(away) > np.maximum(reach, _LEAST_GAP)
    pausing = (paused > _PAUSING) & (away < -_LEAST_GAP)
    disagrees: npt.NDArray[np.bool_] = several & (beyond_chance | pausing)
    gaps[disagrees] = away[disagrees]
    return gaps


def instance_log_rates(log_rate: Floats, weight: Floats, instance: Indices, count: int) -> Floats:
    """The log of the mean rate of each instance, over the cycles of its slices."""
    served = np.bincount(instance, weight, count)
    took = np.bincount(instance, weight * np.exp(-log_rate), count)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(served / took))
