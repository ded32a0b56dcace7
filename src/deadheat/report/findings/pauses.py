"""Servers that pause: what their slices show that no request explains, and the machine does not.

A slice stores the seconds in which no answer came for longer than twice its median service time,
and at least 4 ms. Pauses of the machine hit all contenders and controls alike, so a server is
judged by what it has beyond the median of the others.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat import numbers
from deadheat.report.findings.analysis import LevelAnalysis
from deadheat.report.model.series import SHAPE, Finite
from deadheat.report.model.view import Cell, RunView

# Keys of a slice. One without a pause has the first alone; one that failed has none.
WINDOW, PAUSED, LONGEST = "window_s", "paused_s", "longest_pause_us"
SHARE_SHOWN = 0.02  # of a server's time
SLICES_MIN = 2  # with a pause longer than a slice: a single one may be the machine's
SIGN = "‖"
MEANING = f"{SIGN}: the server pauses"

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Pauses:
    """What a server pauses without a request that explains it, and beyond what others have."""

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
    long_share: float  # of the slices, with a pause longer than the slice
    long_slices: int


def find_pauses(rows_by_name: Mapping[str, Rows]) -> dict[str, Pauses]:
    """The servers that pause, of contenders and controls with their rows of slices.

    A server pauses if that takes over `SHARE_SHOWN` of its time, or if it stops for longer than a
    slice more than once; both beyond the median of the others. Slices that failed say nothing.
    """
    sums = {name: each for name, rows in rows_by_name.items() if (each := _sums(rows)) is not None}
    findings = {}
    for name, own in sums.items():
        others = [each for other, each in sums.items() if other != name]
        share = own.share - _median([each.share for each in others])
        often = own.long_share > _median([each.long_share for each in others])
        if share > SHARE_SHOWN or (often and own.long_slices >= SLICES_MIN):
            findings[name] = _pauses(own.longest_us, max(share, 0.0))
    return findings


def pauses_at(view: RunView, level: LevelAnalysis) -> Mapping[str, Pauses]:
    """The contenders that pause at a level."""
    if "pauses" not in level.kept:
        cells = {
            each.name: each.cells.get(level.connections, Cell(level.connections))
            for each in (*view.contenders, *view.controls)
        }
        pausing = find_pauses({name: _rows(cell) for name, cell in cells.items()})
        controls = {control.name for control in view.controls}
        level.kept["pauses"] = {
            name: each for name, each in pausing.items() if name not in controls
        }
    pauses: Mapping[str, Pauses] = level.kept["pauses"]
    return pauses


def _pauses(longest_us: float, share: float) -> Pauses:
    """With `paused for up to 213 ms; pauses took 20 % of its time`."""
    longest = f"paused for up to {numbers.milliseconds(longest_us)} ms"
    taken = numbers.percent(share, 0 if share >= 0.1 else 1)
    return Pauses(longest_us, share, f"{longest}; pauses took {taken} of its time")


def _rows(cell: Cell) -> Rows:
    """Those of the trials behind the figures; in some the client waited, not the server."""
    rows = [row for trial in cell.counted for row in trial.slices]
    return [row for row in rows if not row.get("client_waited")]


def _sums(rows: Rows) -> _Sums | None:
    """None without a slice that was measured.

    A pause may last beyond the measured time, so it counts as time, too.
    """
    known = [row for row in rows if WINDOW in row]
    times_s = [row[WINDOW] for row in known]
    paused_s = [row.get(PAUSED) or 0.0 for row in known]
    whole_s = sum(map(max, times_s, paused_s))
    if not whole_s:
        return None
    longest_us = [row.get(LONGEST) or 0.0 for row in known]
    long_slices = sum(us > 1e6 * time_s for us, time_s in zip(longest_us, times_s, strict=True))
    return _Sums(
        longest_us=max(longest_us),
        share=sum(paused_s) / whole_s,
        long_share=long_slices / len(known),
        long_slices=long_slices,
    )


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
