"""Which instance of a contender runs in a block: all that are up take turns, and rest frozen.

An instance that ran in one stretch of the race alone would show what the machine did then as if
it were its own. Turns spread all instances of a contender over the race.
"""

import random
from collections.abc import Iterable, Sequence

from deadheat.measure.warm_instance import WarmInstance

UP_MAX = 6  # instances of a contender; more would only take memory


class Rotation:
    """Picks the instances of each block; `note_block` reports which ran."""

    def __init__(self, order: random.Random) -> None:
        self._order = order
        self._turns: dict[int, int] = {}  # by instance id; a fresh one joins the round under way

    @property
    def used(self) -> frozenset[int]:
        """The ids of the instances that have run a block."""
        return frozenset(self._turns)

    def note_block(self, instances: Iterable[WarmInstance], up: Sequence[WarmInstance]) -> None:
        """Count a block of `instances`, one of each contender, out of those that are `up`."""
        for instance in instances:
            others = [each for each in up if each.name == instance.name]
            latest = max(self._turns.get(each.instance_id, 0) for each in others)
            taken = self._turns.get(instance.instance_id)
            self._turns[instance.instance_id] = max(latest, 1) if taken is None else taken + 1

    def pick(self, instances: Sequence[WarmInstance]) -> WarmInstance:
        """The instance of a contender to run next: a fresh one, else one with the fewest turns.

        One that never became steady runs only if no other is up: its trials do not rank.
        """
        steady = [each for each in instances if became_steady(each)] or instances
        turns = [self._turns.get(each.instance_id, 0) for each in steady]
        return self._order.choice(
            [each for each, taken in zip(steady, turns, strict=True) if taken == min(turns)]
        )

    def leaving(self, instances: Sequence[WarmInstance]) -> list[WarmInstance]:
        """Of one contender's instances, those that leave before another starts."""
        return self.spare(instances)[: max(len(instances) + 1 - UP_MAX, 0)]

    def spare(self, up: Sequence[WarmInstance]) -> list[WarmInstance]:
        """Those that may leave when memory is short, the least useful first.

        These are the ones that never became steady, then those with the most turns. A contender
        keeps its newest steady instance, or its newest one if none became steady.
        """
        kept = {each.name: each.instance_id for each in sorted(up, key=became_steady)}
        others = [each for each in up if kept[each.name] != each.instance_id]
        turns = {each.instance_id: self._turns.get(each.instance_id, 0) for each in others}
        return sorted(others, key=lambda each: (became_steady(each), -turns[each.instance_id]))


def became_steady(instance: WarmInstance) -> bool:
    """Whether its warm-up found a steady rate, where one was sought."""
    return instance.warmed.kind != "none"
