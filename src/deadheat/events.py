"""What a campaign tells while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """What goes on right now: the live line."""

    what: str
    done: int = 0
    of: int | None = None  # None: not known beforehand
    left_s: float | None = None  # at the most, or as far as can be told


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth a line of its own."""

    what: str
    trouble: bool = False


Listener = Callable[[Progress | Event], None]


def silent(_: Progress | Event) -> None:
    """A listener that does not care."""
