"""What the starts of a race share, and how one can fail."""

from collections.abc import Callable
from dataclasses import dataclass, field

from deadheat.events import Listener
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.stats.warm_rule import Reading
from deadheat.store import Store


class Unfit(Exception):
    """A contender that cannot take part in the run; the store has its fault."""


class OutOfTime(Exception):
    """The budget of the race was spent before an instance was ready. Nothing runs then."""


class Ended(Exception):
    """A start failed that another attempt may repeat well; the store has the fault.

    The server or its load process ended, or the network between two hosts was cut.
    """


@dataclass(slots=True)
class EarlierStarts:
    """What the starts of a race so far have shown.

    `left_out` has each verified contender, with the workloads that it is left out of. `readings`
    has the warm-ups by contender and workload.
    """

    left_out: dict[str, frozenset[str]] = field(default_factory=dict)
    readings: dict[tuple[str, str], list[Reading]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Starts:
    """What all starts of a race share. A start takes no longer than `left_s`.

    With `keeps_loads`, instances keep load processes with open connections, for slices.
    """

    world: World
    protocol: Protocol
    store: Store
    listen: Listener
    left_s: Callable[[], float]
    earlier: EarlierStarts
    keeps_loads: bool
