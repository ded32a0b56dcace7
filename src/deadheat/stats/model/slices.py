"""The slices of a race, as the model reads them; and the valid ones, an array for each figure.

`modeled_names` says who takes part in the model of a race: contenders, and controls as a link.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats

Indices = npt.NDArray[np.int64]


ARRAYS = ("log_rate", "contender", "instance", "block", "round", "time_s", "weight", "witness")


@dataclass(frozen=True)
class SliceArrays:
    """Valid slices of one race in one array each, in any order; all of the same length.

    `log_rate` is the natural logarithm of requests per second, `contender` an index below
    `contenders`, `instance` an index that no two contenders share, `block` and `round` those of
    the race (a round belongs to one block), `time_s` when the slice began, on one clock.
    `weight` is the requests of a slice over the length of its window, above 0; left out, slices
    weigh alike.
    `witness` is the log of its instance's rate without slices; NaN, or left out, if unknown.
    `silent` has a share for each contender: of its windows' time in which nothing was sent.
    `paused` likewise: of its time in pauses.
    ValueError where the arrays do not fit together.
    """

    log_rate: Floats
    contender: Indices
    instance: Indices
    block: Indices
    round: Indices
    time_s: Floats
    contenders: int
    weight: Floats = field(default_factory=lambda: np.zeros(0))
    witness: Floats = field(default_factory=lambda: np.zeros(0))
    silent: Floats = field(default_factory=lambda: np.zeros(0))
    paused: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not len(self.weight):
            object.__setattr__(self, "weight", np.ones(len(self.log_rate)))
        for name in ("silent", "paused"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.zeros(self.contenders))
        if not len(self.witness):
            object.__setattr__(self, "witness", np.full(len(self.log_rate), np.nan))
        for name in ARRAYS:
            if (
                np.shape(getattr(self, name)) != np.shape(self.log_rate)
                or np.ndim(self.log_rate) != 1
            ):
                raise ValueError(f"{name} has another shape than log_rate, or more than one axis")
        if not np.all(np.isfinite(self.log_rate)) or not np.all(np.isfinite(self.time_s)):
            raise ValueError("log_rate and time_s are finite: leave out slices that do not count")
        if not np.all(np.isfinite(self.weight) & (self.weight > 0)):
            raise ValueError("weight is above 0: a slice without requests is left out")
        if not len(self.log_rate):
            return
        if self.contender.min() < 0 or self.contender.max() >= self.contenders:
            raise ValueError(f"contender is an index from 0 to {self.contenders - 1}")
        if self.instance.min() < 0:
            raise ValueError("instance is an index from 0")
        owner = np.full(int(self.instance.max()) + 1, -1)
        owner[self.instance] = self.contender
        if np.any(owner[self.instance] != self.contender):
            raise ValueError("an instance belongs to one contender")

    def __len__(self) -> int:
        return len(self.log_rate)

    def taken(self, chosen: npt.NDArray[np.bool_]) -> "SliceArrays":
        """The slices that `chosen` marks."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in ARRAYS})


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
