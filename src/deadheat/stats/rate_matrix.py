"""The matrix of rates that all comparisons start from, built from single trials."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deadheat.stats.distributions import Floats

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
