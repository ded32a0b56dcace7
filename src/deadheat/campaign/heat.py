"""The instances that are up: `Heat` starts them and in the end stops all, `Rotation` picks.

An instance that ran in one stretch of the race alone would show what the machine did then as if
it were its own. Turns spread all instances of a contender over the race; the others rest frozen.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Self

from deadheat.measure.starter import OutOfTime, Starter, Unfit
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.measure.world import World

MEMORY_FREE_BYTES_MIN = 1 << 30  # left for the machine while all instances of a heat are up
UP_MAX = 6  # instances of a contender; more would only take memory


class Heat:
    """Owns its instances: each is stopped when it leaves, and all of them when the heat ends.

    `unfit` hears of a contender that could not start, and why.
    """

    def __init__(
        self,
        world: World,
        starter: Starter,
        unfit: Callable[[EnteredContender, str], None],
        at_once: int | None = None,
    ) -> None:
        self._world = world
        self._starter = starter
        self._unfit = unfit
        self._at_once = at_once
        self._instances: list[WarmInstance] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop each instance, even if stopping another failed; then raise the first failure."""
        left, self._instances = self._instances, []
        self._starter.stop_all(left)

    @property
    def instances(self) -> tuple[WarmInstance, ...]:
        return tuple(self._instances)

    @property
    def contenders(self) -> tuple[WarmInstance, ...]:
        """Without the controls."""
        return tuple(i for i in self._instances if i.entered.contender.role == "contender")

    def __contains__(self, instance: WarmInstance) -> bool:
        return instance in self._instances

    def of(self, name: str) -> list[WarmInstance]:
        """The instances of a contender that are up, in the order of their starts."""
        return [i for i in self._instances if i.name == name]

    def start(self, entered: EnteredContender, invocation: int, at_s: float) -> WarmInstance | None:
        """Start an instance; None where the contender turned out unfit, or no time is left."""
        try:
            instance = self._starter.start(entered, invocation, at_s)
        except Unfit as error:
            self._unfit(entered, str(error))
            return None
        except OutOfTime:
            return None
        self._instances.append(instance)
        return instance

    def start_as_many_as_fit(
        self, waiting: list[EnteredContender], start: Callable[[EnteredContender], object]
    ) -> None:
        """Start from the front of `waiting` while memory lasts, at least one of them."""
        before = len(self._instances)
        while waiting and (len(self._instances) == before or self.has_room()):
            start(waiting.pop(0))

    def stop(self, instance: WarmInstance) -> None:
        """Stop one instance; it leaves the heat."""
        self._instances.remove(instance)
        self._starter.stop(instance)

    def has_room(self) -> bool:
        """Whether one more contender can be up beside those that are."""
        if self._at_once is not None:
            return len(self.contenders) < self._at_once
        host = self._world.server_host
        free_bytes = host.unwatch(host.watch([], 1.0))[-1].memory_available_bytes
        return free_bytes > MEMORY_FREE_BYTES_MIN


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
