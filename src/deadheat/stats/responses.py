"""How contenders respond to where the hypervisor has put the CPUs."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.slices import MIXED, Indices, Slices

# What responses scatter by. The null server's log rate changed by 0.30 from one placement of the
# CPUs to the other, and those of eight servers by 0.01 to 0.22. It matters to contenders with few
# slices.
SD = 0.15
_MOST = 0.8  # of the contenders of the largest block


@dataclass(frozen=True)
class Responses:
    """Of each contender with slices, if the CPUs had two placements; else there are none.

    A response is the log of a contender's rate in placement 1 over that in placement 0, one more
    unknown of the model. The log rate of a slice has `shift` times its contender's response in it:
    1 in placement 1 and 0 in placement 0, less the mean while most contenders raced
    (`most_raced`). So effects of contenders are those at that mean. `numbers` [contender] are
    counted from `first`, the number of instances, and -1 without a response.
    """

    shift: Floats
    numbers: Indices
    first: int

    @classmethod
    def of(cls, slices: Slices, order: Indices, first: int) -> Self:
        """Of slices taken in this order."""
        shift = _shift(slices)[order]
        numbers = np.full(slices.contenders, -1)
        if shift.any():
            present = np.unique(slices.contender)
            numbers[present] = first + np.arange(len(present))
        return cls(shift, numbers, first)

    def __len__(self) -> int:
        return int((self.numbers >= 0).sum())

    def added(self, effects: Floats, contender: Indices) -> Floats:
        """What responses add to the log rate of each slice; `effects` are of all unknowns."""
        if not len(self):
            return np.zeros(len(contender))
        return np.asarray(self.shift * effects[self.numbers[contender]])

    def of_contenders(self, responses: Floats) -> Floats:
        """Each contender's, out of one value for each response; NaN without one."""
        of_each = np.full(len(self.numbers), np.nan)
        known = self.numbers >= 0
        of_each[known] = responses[self.numbers[known] - self.first]
        return of_each


def most_raced(contender: Indices, block: Indices) -> npt.NDArray[np.bool_]:
    """Whether most contenders took part in the block of each slice.

    A contender that is settled stops. Its rate with the CPUs elsewhere is not known then, so rates
    are those of the time before that.
    """
    cells = np.unique(np.array([block, contender]), axis=1)
    numbers, counts = np.unique(cells[0], return_counts=True)
    present = counts[np.searchsorted(numbers, block)]
    return np.asarray(present >= _MOST * present.max())


def _shift(slices: Slices) -> Floats:
    """1 in placement 1 and 0 in placement 0, less the mean; 0 for slices in none."""
    known = slices.placement != MIXED
    shift = np.zeros(len(slices))
    if known.any():
        together = known & most_raced(slices.contender, slices.block)
        center = np.mean(slices.placement[together if together.any() else known])
        shift[known] = slices.placement[known] - center
    return shift
