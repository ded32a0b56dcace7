"""`SliceColumns`: the valid slices of a race, one array for each figure; and as they come.

`modeled_names` says who takes part in the model of a race: contenders, and controls as a link.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.model.slices import Indices


class SliceRow(NamedTuple):
    """One valid slice. `instance`, `block` and `round` are numbers of the whole race.

    A round belongs to one block; `at_s` is on one clock. `weight` is the requests that count over
    the length of their window: by it, mean cycle times of slices are averaged. `witness_per_s` is
    the rate of its instance without slices (see `witness`); NaN if unknown. `window_s` is the
    length of the window. If nothing was sent in it, the slice is silent: its rate is 0.
    `paused_s` is the time without any answer in the whole slice, its discarded part included.
    """

    contender: str
    instance: int
    block: int
    round: int
    at_s: float
    rate_per_s: float
    weight: float = 1.0
    witness_per_s: float = math.nan
    window_s: float = 1.0
    paused_s: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class SliceColumns:
    """Slices of the same order in all arrays, as in `SliceRow`.

    `contender` is an index into `names`.
    """

    names: tuple[str, ...]
    contender: Indices
    instance: Indices
    block: Indices
    round: Indices
    at_s: Floats
    rate_per_s: Floats
    weight: Floats
    witness_per_s: Floats
    window_s: Floats
    paused_s: Floats

    def __len__(self) -> int:
        return len(self.contender)

    def taken(self, places: Indices | npt.NDArray[np.bool_]) -> Self:
        """The slices at these places, in their order, or those that are marked."""
        arrays = {each.name: getattr(self, each.name)[places] for each in fields(self)[1:]}
        return type(self)(names=self.names, **arrays)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All arrays, in the order of the fields."""
        return tuple(getattr(self, each.name) for each in fields(self)[1:])

    @property
    def present(self) -> set[str]:
        """The names that have a slice."""
        return {self.names[place] for place in np.unique(self.contender)}

    def by_time(self) -> Indices:
        """The places of the slices from the first to the last; those of one time by name."""
        rank = np.empty(len(self.names), dtype=np.int64)
        rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = range(len(self.names))
        return np.lexsort((rank[self.contender], self.at_s))


class SliceTable:
    """Slices as they come. Each takes 80 bytes, so a race of hours does not fill the memory."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._columns: list[array[Any]] = [array(code) for code in "qqqqdddddd"]  # as in `SliceRow`

    def add(self, rows: Iterable[SliceRow]) -> None:
        for row in rows:
            place = self._places.setdefault(row.contender, len(self._places))
            for column, value in zip(self._columns, (place, *row[1:]), strict=True):
                column.append(value)

    def take(self, slices: SliceColumns) -> None:
        """Add slices that are read already."""
        places = [self._places.setdefault(name, len(self._places)) for name in slices.names]
        owners = np.asarray(places, dtype=np.int64)[slices.contender]
        for column, values in zip(self._columns, (owners, *slices.arrays[1:]), strict=True):
            column.frombytes(values.tobytes())

    @property
    def columns(self) -> SliceColumns:
        """A copy of what is there."""
        return SliceColumns(tuple(self._places), *map(np.array, self._columns))


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
