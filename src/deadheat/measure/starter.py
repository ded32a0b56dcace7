"""Starts instances, again if a start fails by chance, and stops them."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener
from deadheat.measure.attempt import Attempt, end, stop
from deadheat.measure.starts import EarlierStarts, Ended, Starts
from deadheat.measure.warm_instance import EnteredContender, WarmInstance
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store

STOPPED_AT_ONCE = 8
ATTEMPTS = 3  # at one start, as long as it fails with `Ended`


class Starter:
    """Starts and stops the instances of a race. The store keeps each.

    A contender that answers a workload wrong is left out of that workload: the instances have it
    in `entered`. `left_s` says how much of the race's budget is left: a start takes no longer.
    With `keeps_loads`, instances keep load processes with open connections, for slices.
    """

    def __init__(
        self,
        world: World,
        protocol: Protocol,
        store: Store,
        listen: Listener,
        left_s: Callable[[], float] = lambda: math.inf,
        keeps_loads: bool = False,
    ) -> None:
        earlier = EarlierStarts()
        self._starts = Starts(world, protocol, store, listen, left_s, earlier, keeps_loads)

    def start(self, entered: EnteredContender, invocation: int, at_s: float) -> WarmInstance:
        """Start, verify (the first time), warm, freeze.

        Raises `Unfit`, or `OutOfTime` at the end of the budget; nothing runs then. A start that
        fails with `Ended` is repeated, with `ATTEMPTS` in all. The store has an instance for each.
        """
        now_s = self._starts.world.server_host.now_s
        begun_s = now_s()
        for number in range(1, ATTEMPTS):
            try:
                attempt = Attempt(self._starts, entered, invocation, is_last=False)
                return attempt.run(at_s + now_s() - begun_s)
            except Ended as end:
                again = f"started again ({number + 1} of {ATTEMPTS} times)"
                self._starts.listen(Event(f"{end}; it is {again}", trouble=True))
        last = Attempt(self._starts, entered, invocation, is_last=True)
        return last.run(at_s + now_s() - begun_s)

    def stop(self, warm: WarmInstance) -> None:
        """Stop it and store the last lines of its log; nothing of its tree survives."""
        stop(self._starts.world, self._starts.store, warm.instance, warm.instance_id, warm.loads)

    def stop_all(self, instances: Sequence[WarmInstance]) -> None:
        """Stop them, several at a time, because some take long to end.

        Stops each, even if stopping another failed; then raises the first failure.
        """
        world = self._starts.world
        faults: list[DeadheatError] = []
        with ThreadPoolExecutor(STOPPED_AT_ONCE) as pool:
            endings = [pool.submit(end, world, each.instance, each.loads) for each in instances]
            for instance, ending in zip(instances, endings, strict=True):
                try:
                    self._starts.store.update_instance(instance.instance_id, **ending.result())
                except DeadheatError as error:
                    faults.append(error)
        if faults:
            raise faults[0]
