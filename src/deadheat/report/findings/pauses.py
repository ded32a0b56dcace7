"""Servers that pause: what their slices show that no request explains, and the machine does not.

A slice stores the seconds in which no answer came for longer than twice its median service time,
and at least 4 ms. Pauses of the machine hit all contenders and controls alike, so a server is
judged by what it has beyond the median of the others. A slow one hides short pauses in its service
time, so only those count that are at least as fast.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from deadheat import numbers
from deadheat.report.findings.analysis import LevelAnalysis, cells_at
from deadheat.report.model.series import SHAPE, Finite
from deadheat.report.model.view import Cell, RunView
from deadheat.store.slices import StoredSlice

SHARE_SHOWN = 0.02  # of a server's time
ERROR = 0.05  # for a server that does not pause among all of a level
SLICES_MIN = 2  # with a pause longer than a slice: a single one may be the machine's
SIGN = "‖"
MEANING = f"{SIGN}: the server pauses"

Slices = Sequence[StoredSlice]


@dataclass(frozen=True, slots=True)
class Pauses:
    """What a server pauses without a request that explains it, and beyond what faster ones have."""

    __pydantic_config__ = SHAPE

    longest_us: Finite
    share: Finite
    """Of the time in which it was measured; 0.2 is 20 %."""
    text: str


@dataclass(frozen=True, slots=True)
class _Sums:
    """Over the slices of one contender."""

    longest_us: float
    share: float  # of the time, in pauses
    share_se: float  # its standard error
    long_share: float  # of the slices, with a pause longer than the slice
    long_slices: int
    rate_per_s: float  # of the median slice


def find_pauses(slices_by_name: Mapping[str, Slices]) -> dict[str, Pauses]:
    """The servers that pause, of contenders and controls with their slices.

    A server pauses if that takes over `SHARE_SHOWN` of its time, beyond chance, or if it stops for
    longer than a slice more than once; both beyond the median of those that are at least as fast.
    The fastest one is judged beside the next. Slices that failed say nothing.
    """
    sums = {
        name: each for name, slices in slices_by_name.items() if (each := _sums(slices)) is not None
    }
    findings = {}
    critical = NormalDist().inv_cdf(1 - ERROR / max(len(sums), 1))
    for name, own in sums.items():
        others = [each for other, each in sums.items() if other != name]
        fastest_per_s = max((each.rate_per_s for each in others), default=0.0)
        least_per_s = min(own.rate_per_s, fastest_per_s)
        others = [each for each in others if each.rate_per_s >= least_per_s]
        share = own.share - _median([each.share for each in others])
        chance = critical * math.hypot(own.share_se, _se_of_median(others))
        often = own.long_share > _median([each.long_share for each in others])
        if share > max(SHARE_SHOWN, chance) or (often and own.long_slices >= SLICES_MIN):
            findings[name] = _pauses(own.longest_us, max(share, 0.0))
    return findings


def pauses_at(view: RunView, level: LevelAnalysis) -> Mapping[str, Pauses]:
    """The contenders that pause at a level."""
    return level.kept.once("pauses", lambda: _pauses_at(view, level))


def _pauses_at(view: RunView, level: LevelAnalysis) -> Mapping[str, Pauses]:
    cells = cells_at(view, level.connections)
    pausing = find_pauses({name: _slices(cell) for name, cell in cells.items()})
    controls = {control.name for control in view.controls}
    return {name: each for name, each in pausing.items() if name not in controls}


def _pauses(longest_us: float, share: float) -> Pauses:
    """With `paused for up to 213 ms; pauses took 20 % of its time`."""
    longest = f"paused for up to {numbers.milliseconds(longest_us)} ms"
    taken = numbers.percent(share, 0 if share >= 0.1 else 1)
    return Pauses(longest_us, share, f"{longest}; pauses took {taken} of its time")


def _slices(cell: Cell) -> Slices:
    """Those of the trials behind the figures; in some the client waited, not the server."""
    slices = [each for trial in cell.counted for each in trial.slices]
    return [each for each in slices if not each.client_waited]


def _sums(slices: Slices) -> _Sums | None:
    """None without a slice that was measured.

    A pause may last beyond the measured time, so it counts as time, too.
    """
    known = [each for each in slices if each.window_s is not None]
    times_s = [each.window_s or 0.0 for each in known]
    paused_s = [each.paused_s or 0.0 for each in known]
    lengths_s = [*map(max, times_s, paused_s)]
    if not any(lengths_s):
        return None
    whole_s, count = sum(lengths_s), len(known)
    share = sum(paused_s) / whole_s
    beyond_s = [part - share * whole for part, whole in zip(paused_s, lengths_s, strict=True)]
    longest_us = [each.longest_pause_us or 0.0 for each in known]
    long_slices = sum(us > 1e6 * time_s for us, time_s in zip(longest_us, times_s, strict=True))
    return _Sums(
        longest_us=max(longest_us),
        share=share,
        share_se=math.hypot(*beyond_s) / whole_s * math.sqrt(count / (count - 1))
        if count > 1
        else math.inf,
        long_share=long_slices / count,
        long_slices=long_slices,
        rate_per_s=_median([each.rate_per_s or 0.0 for each in known]),
    )


def _se_of_median(sums: Sequence[_Sums]) -> float:
    """The standard error of the shares' median, taken for that of their mean."""
    return math.hypot(*(each.share_se for each in sums)) / max(len(sums), 1)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
