"""The rate of one contender without another: its interval from how its instances scatter."""

import math
import statistics
from collections.abc import Mapping

from deadheat.stats.distributions import t_critical
from deadheat.stats.rate_matrix import Place

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
