"""Which instance to replace by a fresh one, and when: starts differ, and each costs time.

A fresh start narrows an interval in two ways: it averages over one more start, and it adds degrees
of freedom. More slices only average over more slices (`stats/measurement_value.py`).
"""

import math
from collections.abc import Mapping, Sequence

from deadheat.campaign.block_rounds import rounds_of_block, slice_s
from deadheat.campaign.slice_standings import FEWEST_INSTANCES, SliceStandings
from deadheat.measure.warm_instance import WarmInstance
from deadheat.protocol import Protocol
from deadheat.stats.measurement_value import Action, Contribution, Cost, contribution

ESTIMATE_BLOCKS = 2  # between two estimates of what a fresh start is worth
LATER_SHARE = 0.6  # of the first start's time, that a later one takes
# Of the time after the first starts, while contenders have fewer instances than the protocol asks
# for: with two or three, the quantile of t is most of an interval's width.
FEW_SHARE = 0.5


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
        self._used: set[int] = set()
        self._blocks = 0
        self._estimated_at_block = 0
        self._values: Mapping[str, Contribution] = {}

    @property
    def used(self) -> frozenset[int]:
        """The ids of the instances that have run a block."""
        return frozenset(self._used)

    def note_block(self, instances: Sequence[WarmInstance]) -> None:
        """Count a block of these instances."""
        self._blocks += 1
        self._used |= {instance.instance_id for instance in instances}

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
        takes. Then come those whose fresh start narrows intervals most per second, or whose
        contender has fewer instances than the protocol asks for. `restarts_s` is what these starts
        took so far, and `first_starts_s` what the first ones took. An instance that never became
        steady has trials that do not rank, and another start would be no better: it comes last.
        """
        self._estimate(instances)
        left_s = self._stopping.budget_s - now_s
        racing_s = self._stopping.budget_s - first_starts_s
        chosen: list[WarmInstance] = []
        for instance in sorted(instances, key=self._urgency):
            if instance.instance_id not in self._used or instance.name not in group:
                continue
            if not self._worth(instance):
                continue
            cost_s = _cost_s(instance)
            if left_s < cost_s + self._block_s(len(group)):
                continue
            if restarts_s + cost_s > self._share(instance, now_s) * racing_s:
                continue
            chosen.append(instance)
            restarts_s += cost_s
            left_s -= cost_s
        return chosen

    def _share(self, instance: WarmInstance, now_s: float) -> float:
        """The share of the time after the first starts up to which starts may replace this one."""
        count = self._standings.instances(instance.name)
        usual = self._rule.starts_share * min(1.0, 0.5 + now_s / self._stopping.budget_s)
        if not _became_steady(instance) or count >= self._stopping.invocations:
            return usual
        return math.inf if count < FEWEST_INSTANCES else max(FEW_SHARE, usual)

    def _block_s(self, contenders: int) -> float:
        rounds = rounds_of_block(self._protocol, len(self._standings.racing_names))
        return contenders * rounds * slice_s(self._protocol)

    def _urgency(self, instance: WarmInstance) -> tuple[int, float]:
        """Single instances first, the cheapest before the others; then by what a start gains."""
        value = self._values.get(instance.name)
        if not _became_steady(instance):
            return (2, _cost_s(instance))
        if self._standings.instances(instance.name) < FEWEST_INSTANCES or value is None:
            return (0, _cost_s(instance))
        return (1, -value.gain_per_s)

    def _worth(self, instance: WarmInstance) -> bool:
        if self._standings.instances(instance.name) < self._stopping.invocations:
            return True
        value = self._values.get(instance.name)
        return value is not None and value.action is Action.INSTANCE

    def _estimate(self, instances: Sequence[WarmInstance]) -> None:
        """What a second is worth to each contender, and how to spend it."""
        if self._values and self._blocks < self._estimated_at_block + ESTIMATE_BLOCKS:
            return
        fitted = self._standings.fit(self._level)
        if fitted is None:
            return
        self._estimated_at_block = self._blocks
        model, names = fitted
        pairs = max(1, len(names) * (len(names) - 1) // 2)
        alpha = (1 - self._stopping.confidence) / pairs
        each_s = slice_s(self._protocol)
        self._values = {
            instance.name: contribution(
                model,
                names.index(instance.name),
                Cost(max(_cost_s(instance), each_s), each_s),
                alpha,
            )
            for instance in instances
            if instance.name in names
        }


def _became_steady(instance: WarmInstance) -> bool:
    return instance.warmed.kind != "none"


def _cost_s(instance: WarmInstance) -> float:
    """What the next start of a contender takes: the first one warms up for longer."""
    return instance.took_s * (LATER_SHARE if instance.invocation == 1 else 1.0)
