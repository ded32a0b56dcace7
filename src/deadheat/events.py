"""The progress, events and results so far that a campaign reports while it runs."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The current step, for the live line. `what` is text for the user."""

    what: str
    done: int = 0
    of: int | None = None  # None: not known in advance
    left_s: float | None = None  # upper bound or estimate


@dataclass(frozen=True, slots=True)
class Event:
    """An event that gets its own line. `what` is text for the user."""

    what: str
    trouble: bool = False


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A contender in the order so far.

    `rank` is that of the last look; None before the first, and without an interval.
    """

    name: str
    rate_per_s: float | None  # the median of its valid trials
    rank: str | None
    instances: int
    open: bool  # whether its place is still measured


@dataclass(frozen=True, slots=True)
class Board:
    """The result so far, after each block: the fastest first.

    `budget_s` is infinite where a fixed number of repetitions ends the race.
    `decided` counts the neighboring pairs that the last look decided, of `pairs`; None before it.
    `disturbed` names the gates of the machine that the last block failed.
    """

    rows: tuple[BoardRow, ...]
    connections: int
    block: int
    decided: int | None
    pairs: int
    elapsed_s: float
    budget_s: float
    disturbed: tuple[str, ...] = ()
    workload: str | None = None  # of these rates, in a run of several: the first one


Listener = Callable[[Progress | Event | Board], None]


def silent(_: Progress | Event | Board) -> None:
    """A listener that ignores everything."""
