"""Who takes part in the model of a race: the contenders, and the controls only as a link."""

from collections.abc import Iterable, Sequence

import numpy as np

from deadheat.stats.slice_columns import SliceColumns

SHARED_MIN = 0.5  # of the blocks of the contender that has fewer


def modeled_names(
    columns: SliceColumns, contenders: Iterable[str], controls: Iterable[str]
) -> list[str]:
    """Those of the names that the model reads: they have a slice.

    Controls take part only in a race of a single contender, and in one of groups, where two
    contenders share few of their blocks. In other races they would widen the intervals. Each has
    one instance for the whole race, and a change of the machine's speed changes its rate by another
    factor than the contenders': all their instances would seem to differ.
    """
    present = columns.present
    racing = [name for name in contenders if name in present]
    if len(racing) > 1 and _race_together(columns, racing):
        return racing
    return racing + [name for name in controls if name in present]


def _race_together(columns: SliceColumns, names: Sequence[str]) -> bool:
    """Whether any two of them share most of their blocks."""
    _, block = np.unique(columns.block, return_inverse=True)
    runs = np.zeros((len(columns.names), int(block.max()) + 1))
    runs[columns.contender, block] = 1
    own = runs[[columns.names.index(name) for name in names]]
    blocks = own.sum(axis=1)
    return bool((own @ own.T >= SHARED_MIN * np.minimum(blocks[:, None], blocks)).all())
