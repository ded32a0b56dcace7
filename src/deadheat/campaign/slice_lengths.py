"""How long slices are: of random length, longer where a server is slow, shorter in a small budget.

It also says how long slices and blocks take, with all that is not counted.
"""

import random
from collections import defaultdict
from dataclasses import dataclass

from deadheat.campaign.past import level_of
from deadheat.catalog.manifest import HTTP2
from deadheat.measure.warm_instance import WarmInstance
from deadheat.protocol import Settle, SliceProtocol
from deadheat.store import TrialRecord
from deadheat.workload import Level, parts_of

FEWEST_INSTANCES = 2
CYCLES = 3.0  # of each connection, in a window of mean length
SPREAD = 0.6  # windows differ from their mean by up to this share, at random
WINDOW_S_MAX = 3.0  # of the mean
DISCARD_S_MAX = 1.0  # if the protocol discards less
FACTOR_MAX = 4  # a server that leaves connections without an answer for longer fails its trials
BETWEEN_SLICES_S = 0.008  # thaw, command, drain and freeze
# Of a contender's part of the budget: the slices of its first instances. Starts take as much, and
# the rest is for contenders that need more of both.
FIRST_SLICES_SHARE = 1 / 3


def within_budget(protocol: SliceProtocol, contenders: int) -> SliceProtocol:
    """The protocol with shorter slices, if that gives each contender more instances in the budget.

    With two or three instances, an interval is several times as wide as with four, and the length
    of slices matters less.
    """
    rule, stopping = protocol.slices, protocol.stopping
    if rule.shortest_s is None or contenders == 0 or not isinstance(stopping, Settle):
        return protocol
    part_s = stopping.budget_s / contenders / protocol.levels_each
    each_s = FIRST_SLICES_SHARE * part_s / stopping.invocations / rule.rounds
    fitting_s = round(each_s - rule.discard_s - BETWEEN_SLICES_S, 2)
    duration_s = min(protocol.duration_s, max(rule.shortest_s, fitting_s))
    return protocol.model_copy(update={"duration_s": duration_s})


def slice_s(protocol: SliceProtocol) -> float:
    """Seconds that a slice takes; more where a server is slow."""
    return protocol.duration_s + protocol.slices.discard_s + BETWEEN_SLICES_S


def block_s(protocol: SliceProtocol, contenders: int) -> float:
    """Seconds that a block of this many contenders takes, at all levels."""
    return contenders * protocol.levels_each * protocol.slices.rounds * slice_s(protocol)


@dataclass(frozen=True, slots=True)
class SliceLength:
    """How long counted requests are sent, and how long others before them."""

    window_s: float
    discard_s: float


class SliceLengths:
    """Windows of the protocol's length or of some cycles of each connection, with random lengths.

    A window of fixed length may keep time with the server: with pauses that come every so many
    requests, each slice has one, or none has. A cycle is what a request takes on its connection,
    by the rate of the warm-up. Discarding takes a whole one, because the connections start at the
    same moment.

    Windows are twice as long after a trial in which a connection got no answer or the server
    paused for longer than a window, or if slices disagree with the load without slices, and twice
    as long again after the next one.
    """

    def __init__(self, protocol: SliceProtocol) -> None:
        self._protocol = protocol
        self._factors: dict[tuple[str, Level], int] = defaultdict(lambda: 1)

    def draw(
        self, instance: WarmInstance, level: Level, discard_s: float, order: random.Random
    ) -> SliceLength:
        """The lengths of the next slice of an instance; `discard_s` is the least to discard."""
        rate_per_s = instance.warmed_on(level.workload).rate_per_s
        _, transport = parts_of(level.workload)
        in_flight = level.connections * (self._protocol.streams if transport in HTTP2 else 1)
        cycle_s = in_flight / rate_per_s if rate_per_s > 0 else 0.0
        usual_s = max(self._protocol.duration_s, CYCLES * cycle_s)
        factor = self._factors[instance.name, level]
        mean_s = min(factor * usual_s, max(WINDOW_S_MAX, self._protocol.duration_s))
        return SliceLength(
            window_s=round(mean_s * order.uniform(1 - SPREAD, 1 + SPREAD), 4),
            discard_s=round(max(discard_s, min(cycle_s, DISCARD_S_MAX)), 4),
        )

    def note(self, name: str, record: TrialRecord) -> None:
        """After a trial of the contender with this name."""
        unserved = any(gate.code == "served" and not gate.passed for gate in record.gates)
        longest_pause_us = record.figures.longest_pause_us or 0.0
        if unserved or longest_pause_us > 1e6 * self._protocol.duration_s:
            self.lengthen(name, level_of(record))

    def lengthen(self, name: str, level: Level) -> None:
        """Make the contender's windows twice as long, up to the limit."""
        self._factors[name, level] = min(2 * self._factors[name, level], FACTOR_MAX)
