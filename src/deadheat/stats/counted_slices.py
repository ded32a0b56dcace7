"""Which slices of a race count: the early ones of an instance that still settled do not."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.settling import SLICES_MIN, Settling, settling
from deadheat.stats.slices import Slices


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


@dataclass(frozen=True, slots=True)
class Counted:
    """The slices that count, and a finding for each instance whose slices do not all count.

    `settlings` maps an instance to what `settling` says of it; instances without a finding are
    left out.
    """

    rows: tuple[SliceRow, ...]
    settlings: Mapping[int, Settling]
    owners: Mapping[int, str]  # instance -> contender

    @property
    def excluded(self) -> dict[str, int]:
        """Contender -> how many of its slices do not count."""
        counts: dict[str, int] = {}
        for instance, finding in self.settlings.items():
            name = self.owners[instance]
            counts[name] = counts.get(name, 0) + finding.excluded
        return counts


def count_slices(rows: Iterable[SliceRow]) -> Counted:
    """Leave out the early slices of each instance that still climbed or sank (see `settling`).

    The reference of a slice is what the others did in its round, each relative to its own mean.
    """
    every = sorted(rows, key=attrgetter("at_s", "contender"))
    rate_per_s = np.array([row.rate_per_s for row in every], dtype=float)
    reference = _references(every)
    by_instance: dict[int, list[int]] = {}
    for place, row in enumerate(every):
        by_instance.setdefault(row.instance, []).append(place)
    kept: list[int] = []
    settlings: dict[int, Settling] = {}
    for instance, places in by_instance.items():
        excluded = 0
        if len(places) >= SLICES_MIN:
            finding = settling(
                rate_per_s[places],
                reference[places],
            )
            if finding.excluded or not finding.settled:
                settlings[instance] = finding
            excluded = finding.excluded
        kept += places[excluded:]
    return Counted(
        rows=tuple(every[place] for place in sorted(kept)),
        settlings=settlings,
        owners={row.instance: row.contender for row in every},
    )


def slices_of(rows: Sequence[SliceRow], names: Sequence[str]) -> Slices:
    """The arrays that the model reads; rows of other names are left out."""
    place = {name: number for number, name in enumerate(names)}
    used = [row for row in rows if row.contender in place]
    return Slices(
        log_rate=np.array([math.log(row.rate_per_s) for row in used], dtype=float),
        contender=np.array([place[row.contender] for row in used], dtype=np.int64),
        instance=_numbered([row.instance for row in used]),
        block=_numbered([row.block for row in used]),
        round=_numbered([row.round for row in used]),
        time_s=np.array([row.at_s for row in used], dtype=float),
        contenders=len(names),
    )


def _numbered(values: Sequence[int]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    _, indices = np.unique(np.array(values, dtype=np.int64), return_inverse=True)
    return np.asarray(indices, dtype=np.int64).reshape(-1)


def _references(rows: Sequence[SliceRow]) -> Floats:
    """For each row: the geometric mean of the others of its round, relative to their own means.

    NaN where it was alone in its round.
    """
    log = np.array([math.log(row.rate_per_s) for row in rows], dtype=float)
    _, contender = np.unique([row.contender for row in rows], return_inverse=True)
    relative = log - (np.bincount(contender, log) / np.bincount(contender))[contender]
    round_ = _numbered([row.round for row in rows])
    count = np.bincount(round_)[round_]
    others = np.bincount(round_, relative)[round_] - relative
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 1, others / (count - 1), np.nan)
    return np.array([math.exp(value) for value in mean])
