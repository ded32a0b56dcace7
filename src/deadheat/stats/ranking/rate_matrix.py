"""The matrix of rates that comparisons start from, and the interval of one rate alone."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deadheat.stats.distributions import Floats, t_critical

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
