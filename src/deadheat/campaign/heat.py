"""`Heat`: the instances that are up together. It starts them, and in the end stops them all."""

from collections.abc import Callable
from typing import Self

from deadheat.measure.starter import OutOfTime, Starter, Unfit
from deadheat.measure.warm_instance import EnteredContender, WarmInstance
from deadheat.measure.world import World

MEMORY_FREE_BYTES_MIN = 1 << 30  # left for the machine while all instances of a heat are up


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
