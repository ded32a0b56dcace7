"""From single trials to the array that all comparisons start from."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deadheat.stats.quantile import Floats

VALID_SHARE_MIN = 0.5

Place = tuple[int, int]  # invocation, block


def tableau(rates: Mapping[str, Mapping[Place, float]], places: Iterable[Place]) -> Floats:
    """rates[invocation, block, name], in the order of `rates`; NaN where there is no valid rate.

    `places` are all blocks of the run, so that a block in which nothing was valid stays seen.
    """
    seen = sorted(set(places))
    invocations = sorted({invocation for invocation, _ in seen})
    columns: dict[int, list[int]] = {i: [b for at, b in seen if at == i] for i in invocations}
    longest = max(map(len, columns.values()), default=0)
    array = np.full((len(invocations), longest, len(rates)), np.nan)
    for index, by_place in enumerate(rates.values()):
        for (invocation, block), rate in by_place.items():
            row = invocations.index(invocation)
            array[row, columns[invocation].index(block), index] = rate
    return array


def rankable(rates: Mapping[str, Sequence[object]], blocks: float) -> list[str]:
    """The names whose valid rates cover at least half of the blocks of a heat."""
    return [name for name, valid in rates.items() if len(valid) >= max(1, VALID_SHARE_MIN * blocks)]
