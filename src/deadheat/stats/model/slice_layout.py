"""Slices placed by segment, position and instance: what the equations of the model run over."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.model.instance_matrix import Front, fronts
from deadheat.stats.model.slices import Indices, SliceArrays

_LONGEST_SEGMENT = 400  # slices; a longer block is cut, and its parts compared within themselves
_SHORTEST_GAP_S = 1e-3
_GROUP_SIZE = 300_000  # numbers of a group's equations, which then stay in the processor's cache


@dataclass(frozen=True)
class Group:
    """Segments of like lengths, whose equations are solved together.

    `segments` are their indices. `slices` are those of their slices in the layout's order, `row`
    and `column` the places in arrays [segment of the group, position], and `local` as in the
    layout, below `locals`.
    """

    segments: Indices
    slices: Indices
    row: Indices
    column: Indices
    local: Indices
    locals: int
    gap_s: Floats


@dataclass(frozen=True)
class Layout:
    """Slices sorted by segment and time; a segment is a block or a part of a long one.

    `row` and `column` place each sorted slice in padded arrays [segment, position]; `local` is
    its instance's index within the segment, `instances` [segment, local] gives it back, -1 as
    padding. `instance` counts only instances with slices, 0 to `instance_count` - 1, and
    `contender_of` is each one's contender.

    `weight` is that of a slice relative to the mean of its contender's.
    """

    log_rate: Floats
    weight: Floats
    contender: Indices
    instance: Indices
    contender_of: Indices
    contenders: int
    time_s: Floats
    round: Indices
    block: Indices
    row: Indices
    column: Indices
    local: Indices
    instances: Indices
    gap_s: Floats

    @classmethod
    def of(cls, slices: SliceArrays) -> "Layout":
        """Sort and place the slices; at least one is needed."""
        order = np.lexsort((slices.time_s, slices.block))
        block, time_s = slices.block[order], slices.time_s[order]
        count = len(order)
        fresh = np.diff(block, prepend=block[0] - 1) != 0
        begin = np.maximum.accumulate(np.where(fresh, np.arange(count), 0))
        within = np.arange(count) - begin
        pieces = np.bincount(np.cumsum(fresh) - 1) // _LONGEST_SEGMENT + 1
        sizes = np.bincount(np.cumsum(fresh) - 1) / pieces
        piece = (within // np.ceil(sizes[np.cumsum(fresh) - 1])).astype(np.int64)
        cut = fresh | (np.diff(piece, prepend=0) != 0)
        row = np.cumsum(cut) - 1
        column = np.arange(count) - np.maximum.accumulate(np.where(cut, np.arange(count), 0))
        _, instance = np.unique(slices.instance[order], return_inverse=True)
        contender = slices.contender[order]
        instance_count = int(instance.max()) + 1
        contender_of = np.zeros(instance_count, dtype=np.int64)
        contender_of[instance] = contender
        cells, cell = np.unique(row * instance_count + instance, return_inverse=True)
        cell_row, cell_instance = cells // instance_count, cells % instance_count
        first = np.searchsorted(cell_row, np.arange(row[-1] + 1))
        cell_local = np.arange(len(cells)) - first[cell_row]
        instances = np.full((row[-1] + 1, cell_local.max() + 1), -1)
        instances[cell_row, cell_local] = cell_instance
        gap_s = np.full((row[-1] + 1, column.max() + 1), np.inf)
        gap_s[row, column] = np.where(cut, np.inf, np.diff(time_s, prepend=0.0))
        weight = slices.weight[order]
        mean = np.bincount(contender, weight) / np.maximum(np.bincount(contender), 1)
        return cls(
            log_rate=slices.log_rate[order],
            weight=weight / mean[contender],
            contender=contender,
            instance=instance,
            contender_of=contender_of,
            contenders=slices.contenders,
            time_s=time_s,
            round=slices.round[order],
            block=block,
            row=row,
            column=column,
            local=cell_local[cell],
            instances=instances,
            gap_s=np.maximum(gap_s, _SHORTEST_GAP_S),
        )

    def __len__(self) -> int:
        return len(self.log_rate)

    @property
    def instance_count(self) -> int:
        return len(self.contender_of)

    @cached_property
    def is_instance(self) -> npt.NDArray[np.bool_]:
        """[segment, local]: no padding."""
        return np.asarray(self.instances >= 0)

    @cached_property
    def alone(self) -> npt.NDArray[np.bool_]:
        """[segment]: of one instance, so that only rounding is left of it beside the state."""
        return np.asarray(self.is_instance.sum(axis=1) == 1)

    @cached_property
    def fronts(self) -> tuple[Front, ...]:
        return tuple(fronts(self.instances))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return tuple(self._groups())

    def _groups(self) -> Iterator[Group]:
        """Each as large as the processor's cache holds; like lengths need little padding."""
        lengths = np.bincount(self.row)
        locals_ = (self.instances >= 0).sum(axis=1)
        by_length = np.argsort(lengths, kind="stable")
        sizes = lengths[by_length] * (locals_[by_length] + 1)
        place = np.zeros(len(lengths), dtype=np.int64)
        for segments in np.split(by_length, _starts(sizes)):
            place[segments] = np.arange(len(segments))
            slices = np.flatnonzero(np.isin(self.row, segments, kind="table"))
            yield Group(
                segments=segments,
                slices=slices,
                row=place[self.row[slices]],
                column=self.column[slices],
                local=self.local[slices],
                locals=int(locals_[segments].max()),
                gap_s=self.gap_s[segments, : lengths[segments].max()],
            )

    def padded(self, values: Floats) -> Floats:
        """[segment, position], 0 where there is no slice."""
        array = np.zeros(self.gap_s.shape)
        array[self.row, self.column] = values
        return array


def _starts(sizes: Indices) -> Indices:
    """Where a group begins, the first left out, so that each has about `_GROUP_SIZE` numbers."""
    return np.flatnonzero(np.diff(np.cumsum(sizes) // _GROUP_SIZE)) + 1
