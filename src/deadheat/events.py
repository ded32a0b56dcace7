"""The progress and events that a campaign reports while it runs."""

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


Listener = Callable[[Progress | Event], None]


def silent(_: Progress | Event) -> None:
    """A listener that ignores everything."""
