"""`SliceColumns`: the valid slices of a race, one array for each figure."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import Indices


class SliceRow(NamedTuple):
    """One valid slice. `instance`, `block` and `round` are numbers of the whole race.

    A round belongs to one block; `at_s` is on one clock. A named tuple, because a race may have
    hundreds of thousands.
    """

    contender: str
    instance: int
    block: int
    round: int
    at_s: float
    rate_per_s: float


@dataclass(frozen=True, slots=True, eq=False)
class SliceColumns:
    """Rows of the same order in all arrays. `contender` is an index into `names`."""

    names: tuple[str, ...]
    contender: Indices
    instance: Indices
    block: Indices
    round: Indices
    at_s: Floats
    rate_per_s: Floats

    @classmethod
    def of_rows(cls, rows: Sequence[SliceRow]) -> Self:
        names = tuple(dict.fromkeys(row.contender for row in rows))
        place = {name: number for number, name in enumerate(names)}
        return cls(
            names=names,
            contender=np.array([place[row.contender] for row in rows], dtype=np.int64),
            instance=np.array([row.instance for row in rows], dtype=np.int64),
            block=np.array([row.block for row in rows], dtype=np.int64),
            round=np.array([row.round for row in rows], dtype=np.int64),
            at_s=np.array([row.at_s for row in rows], dtype=float),
            rate_per_s=np.array([row.rate_per_s for row in rows], dtype=float),
        )

    def __len__(self) -> int:
        return len(self.contender)

    def taken(self, places: Indices | npt.NDArray[np.bool_]) -> Self:
        """The rows at these places, in their order, or those that are marked."""
        arrays = {each.name: getattr(self, each.name)[places] for each in fields(self)[1:]}
        return type(self)(names=self.names, **arrays)

    def by_time(self) -> Indices:
        """The places of the rows from the first to the last; by name, where they began together."""
        rank = np.empty(len(self.names), dtype=np.int64)
        rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = range(len(self.names))
        return np.lexsort((rank[self.contender], self.at_s))
