"""Readings of the machine at each slice, and how contenders respond to them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import MIXED, Indices, Slices

PLACEMENT = "placement"
# What responses scatter by. The null server's log rate changed by 0.30 from one placement of the
# CPUs to the other, and those of eight servers by 0.01 to 0.22. It matters to contenders with few
# slices.
_SD = {PLACEMENT: 0.15}
_MOST = 0.8  # of the contenders of the largest block


@dataclass(frozen=True)
class Responses:
    """Of each contender with slices to each reading that changed during the race (`kinds`).

    `readings` [reading, slice] have a mean of 0 while most contenders raced (`complete`). The log
    rate of a slice has a reading times its contender's response in it, so effects of contenders are
    those at the mean readings. A response is one more unknown: `numbers` [reading, contender] are
    counted from `first`, the number of instances, and -1 without slices. `sd` has what each
    scatters by.
    """

    kinds: tuple[str, ...]
    readings: Floats
    numbers: Indices
    sd: Floats
    first: int

    @classmethod
    def of(cls, slices: Slices, order: Indices, first: int) -> Self:
        """Of slices taken in this order."""
        shift = np.where(slices.placement == MIXED, np.nan, slices.placement)
        every = {PLACEMENT: shift}
        inside = complete(slices.contender, slices.block)
        changed = {
            kind: _centered(reading, inside)[order]
            for kind, reading in every.items()
            if np.nanmin(reading) < np.nanmax(reading)
        }
        present = np.unique(slices.contender)
        numbers = np.full((len(changed), slices.contenders), -1)
        total = len(changed) * len(present)
        numbers[:, present] = first + np.arange(total).reshape(-1, len(present))
        return cls(
            kinds=tuple(changed),
            readings=np.array([*changed.values()]).reshape(-1, len(order)),
            numbers=numbers,
            sd=np.repeat([_SD[kind] for kind in changed], len(present)).astype(float),
            first=first,
        )

    def __len__(self) -> int:
        return len(self.sd)

    def added(self, effects: Floats, contender: Indices) -> Floats:
        """What responses add to the log rate of each slice; `effects` are of all unknowns."""
        return np.asarray((self.readings * effects[self.numbers[:, contender]]).sum(axis=0))

    def of_contenders(self, kind: str, responses: Floats) -> Floats:
        """Of all `responses`, each contender's to one reading; NaN where there is none."""
        if kind not in self.kinds:
            return np.full(self.numbers.shape[1], np.nan)
        number = self.numbers[self.kinds.index(kind)]
        return np.where(number < 0, np.nan, responses[number - self.first])


def complete(contender: Indices, block: Indices) -> npt.NDArray[np.bool_]:
    """Whether most of the field took part in the block of each slice.

    A contender that is settled stops. Its rate with the CPUs elsewhere is not known then, so rates
    are those at the readings of the time before that.
    """
    cells = np.unique(np.array([block, contender]), axis=1)
    numbers, counts = np.unique(cells[0], return_counts=True)
    present = counts[np.searchsorted(numbers, block)]
    return np.asarray(present >= _MOST * present.max())


def _centered(reading: Floats, inside: npt.NDArray[np.bool_]) -> Floats:
    """Less its mean over the slices `inside`; 0 where there is none."""
    known = inside & np.isfinite(reading)
    center = np.mean(reading[known]) if known.any() else np.nanmean(reading)
    return np.nan_to_num(reading - center)
