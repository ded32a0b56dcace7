"""Which instance to replace by a fresh one, and when: starts differ, and each costs time.

The variance of a contender's rate is the variance between instances over their number, plus the
variance of a slice over the number of slices. A fresh start lowers both parts, more slices only
the second (Cochran, Sampling Techniques, 1977, section 10.6).
"""

from collections.abc import Sequence

from deadheat.campaign.block_rounds import rounds_of_block, slice_s
from deadheat.campaign.slice_standings import FEWEST_INSTANCES, SliceStandings
from deadheat.measure.starter import WarmInstance
from deadheat.protocol import Protocol
from deadheat.stats.measurement_value import Action, Cost, contribution

BLOCKS_MIN = 1  # that an instance runs before it is replaced
ESTIMATE_BLOCKS = 3  # between two estimates of what a fresh start is worth
LATER_SHARE = 0.6  # of the first start's time, that a later one takes


class FreshStarts:
    """Decides before each block; `note_block` reports the instances of a block."""

    def __init__(self, protocol: Protocol, standings: SliceStandings) -> None:
        if protocol.slices is None:
            raise ValueError(f"protocol {protocol.name} has no slices")
        self._protocol = protocol
        self._rule = protocol.slices
        self._stopping = protocol.stopping
        self._level = protocol.main_level
        self._standings = standings
        self._blocks: dict[int, int] = {}  # instance id -> blocks it has run
        self._gains: dict[str, tuple[Action, float]] = {}
        self._gains_block = 0

    @property
    def used(self) -> frozenset[int]:
        """The instances that have run a block."""
        return frozenset(self._blocks)

    def note_block(self, instances: Sequence[WarmInstance], number: int) -> None:
        """Count a block of these instances."""
        for instance in instances:
            ran = self._blocks.get(instance.instance_id, 0)
            self._blocks[instance.instance_id] = ran + 1
        if number >= self._gains_block + ESTIMATE_BLOCKS:
            self._gains_block = number
            self._gains = self._estimate(instances)

    def due(
        self,
        instances: Sequence[WarmInstance],
        group: Sequence[str],
        now_s: float,
        first_starts_s: float,
        restarts_s: float,
    ) -> list[WarmInstance]:
        """The instances to replace now, those most worth it first.

        A contender with a single instance has no interval, so it comes first, whatever its start
        takes. Then come contenders with fewer instances than the protocol asks for, and then those
        whose fresh start gains most. These starts take at most the rule's share of the budget;
        `restarts_s` is what they took so far, and `first_starts_s` what the first ones took.
        """
        left_s = self._stopping.budget_s - now_s
        racing_s = self._stopping.budget_s - first_starts_s
        allowed_s = self._rule.starts_share * racing_s * self._ramp(now_s)
        chosen: list[WarmInstance] = []
        for instance in sorted(instances, key=self._urgency):
            worn = self._blocks.get(instance.instance_id, 0) >= BLOCKS_MIN
            if not worn or instance.name not in group or not self._worth(instance):
                continue
            cost_s = _cost_s(instance)
            if left_s < cost_s + self._block_s(len(group)):
                continue
            single = self._standings.instances(instance.name) < FEWEST_INSTANCES
            if not single and restarts_s + cost_s > allowed_s:
                continue
            chosen.append(instance)
            restarts_s += cost_s
            left_s -= cost_s
        return chosen

    def _ramp(self, now_s: float) -> float:
        """Starts may run ahead of time at first, when every contender needs some."""
        return min(1.0, 0.5 + now_s / self._stopping.budget_s)

    def _urgency(self, instance: WarmInstance) -> tuple[float, float]:
        count = self._standings.instances(instance.name)
        if count < self._stopping.invocations:
            return (count, _cost_s(instance))
        return (self._stopping.invocations, -self._gains.get(instance.name, (None, 0.0))[1])

    def _worth(self, instance: WarmInstance) -> bool:
        if self._standings.instances(instance.name) < self._stopping.invocations:
            return True
        action, _ = self._gains.get(instance.name, (Action.SLICES, 0.0))
        return action is Action.INSTANCE

    def _estimate(self, instances: Sequence[WarmInstance]) -> dict[str, tuple[Action, float]]:
        """What a second is worth to each contender, and how to spend it."""
        fitted = self._standings.fit(self._level)
        if fitted is None:
            return {}
        model, names = fitted
        each_s = slice_s(self._protocol)
        gains = {}
        for instance in instances:
            if instance.name in names:
                cost = Cost(max(_cost_s(instance), each_s), each_s)
                part = contribution(model, names.index(instance.name), cost)
                gains[instance.name] = (part.action, part.gain_per_s)
        return gains

    def _block_s(self, contenders: int) -> float:
        rounds = rounds_of_block(self._protocol, contenders)
        return contenders * rounds * slice_s(self._protocol)


def _cost_s(instance: WarmInstance) -> float:
    """What the next start of a contender takes: the first one warms up for longer."""
    return instance.took_s * (LATER_SHARE if instance.invocation == 1 else 1.0)
