"""`CoreToCore`: how long a cache line takes from a server's CPU to a load CPU, read between slices.

A hypervisor moves virtual CPUs: for seconds or minutes they share a cache, and then they do not.
Servers that pass much between the two CPUs then gain or lose a fifth of their rate.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from deadheat.errors import DeadheatError
from deadheat.events import Event
from deadheat.host import ProcessSpec
from deadheat.load.core_to_core import read_core_to_core, read_core_to_core_ready
from deadheat.measure.world import World

START_DEADLINE_S = 10.0
READ_DEADLINE_S = 5.0
STOP_DEADLINE_S = 1.0


class CoreToCore:
    """Reads the latency with a resident process of the engine; ends it when the context ends.

    `read_ns` gives None on two machines, and where the process failed; the first failure is
    reported to `listen`, and the race goes on without it.
    """

    def __init__(self, world: World, listen: Callable[[Event], None]) -> None:
        self._world = world
        self._listen = listen
        self._process: str | None = None

    def __enter__(self) -> Self:
        world = self._world
        if not world.beside:
            return self
        command = world.engine.core_to_core_command(world.server_cpus, world.load_cpus)
        spec = ProcessSpec(tuple(command), cpus=(*world.server_cpus, *world.load_cpus))
        log = str((world.load_logs or world.logs) / "core-to-core.log")
        try:
            self._process = world.load_host.converse(spec, log)
            read_core_to_core_ready(world.load_host.ask(self._process, None, START_DEADLINE_S))
        except DeadheatError as error:
            self._give_up(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._world.load_host.stop(self._process, "SIGTERM", STOP_DEADLINE_S)

    def read_ns(self) -> float | None:
        """One way, in nanoseconds; no server and no load may run meanwhile."""
        if self._process is None:
            return None
        try:
            return read_core_to_core(self._world.load_host.ask(self._process, "", READ_DEADLINE_S))
        except DeadheatError as error:
            self._give_up(error)
            return None

    def _give_up(self, error: DeadheatError) -> None:
        if self._process is not None:
            self._world.load_host.stop(self._process, "SIGKILL", 0)
            self._process = None
        text = f"core-to-core latency is not measured: {error}"
        self._listen(Event(text, trouble=True))
