"""`SlicedLevel`: a race in slices at one level, as one model of all slices."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from deadheat.stats.counted_slices import Counted
from deadheat.stats.slice_model import ModelFit
from deadheat.store import Gate

SHOWN_GAP = 0.005  # of a rate: a smaller difference between two estimates is not worth a caution


@dataclass(frozen=True, slots=True)
class SlicedLevel:
    """One level of a race in slices.

    `names` are the contenders and controls with a slice that counts, in the order of the model.
    `client_gates` holds the failed `client_cpu` and `ceiling` of each contender that outran the
    client; these are not ranked by their rates.
    """

    names: tuple[str, ...]
    fit: ModelFit
    counted: Counted
    client_gates: Mapping[str, tuple[Gate, ...]]

    def rate_per_s(self, name: str) -> float | None:
        """The model's rate: all ratios between contenders follow from these."""
        if name not in self.names:
            return None
        rate = math.exp(float(self.fit.robust.log_rate[self.names.index(name)]))
        return rate if math.isfinite(rate) else None

    def plain_rate_per_s(self, name: str) -> float | None:
        """The rate without robust weights, where the two differ by more than their error."""
        if name not in self.names:
            return None
        place = self.names.index(name)
        gap = abs(float(self.fit.robust_gap[place]))
        if not self.fit.estimates_differ[place] or gap < SHOWN_GAP:
            return None
        return math.exp(float(self.fit.plain.log_rate[place]))
