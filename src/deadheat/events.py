"""What a campaign tells while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Doing:
    """What goes on right now: the live line."""

    what: str
    done: int = 0
    of: int | None = None  # None: not known beforehand
    left_s: float | None = None  # at the most, or as far as can be told


@dataclass(frozen=True, slots=True)
class Happened:
    """Something worth a line of its own."""

    what: str
    trouble: bool = False


Listener = Callable[[Doing | Happened], None]


def silent(_: Doing | Happened) -> None:
    """A listener that does not care."""
