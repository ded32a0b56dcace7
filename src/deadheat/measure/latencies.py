"""`LatencyReader`: reads latencies of the machine between slices.

A hypervisor moves virtual CPUs: for seconds or minutes they share a cache, and then they do not.
Other guests fill that cache, and use the memory. Servers respond to both, each in its own way.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from deadheat.errors import DeadheatError
from deadheat.events import Event
from deadheat.host import Host, ProcessSpec
from deadheat.load import Engine
from deadheat.load.engine import Latencies, read_latencies, read_latencies_ready
from deadheat.measure.world import World

START_DEADLINE_S = 10.0
READ_DEADLINE_S = 5.0
STOP_DEADLINE_S = 1.0


class LatencyReader:
    """Reads them with a resident process of the engine; ends it when the context ends.

    `spec` is of that process on `host`, which writes to the file `log`. Nothing is known without a
    `spec`, and after the process failed; that is reported to `listen`.
    """

    def __init__(
        self, host: Host, spec: ProcessSpec | None, log: str, listen: Callable[[Event], None]
    ) -> None:
        self._host = host
        self._spec = spec
        self._log = log
        self._listen = listen
        self._process: str | None = None

    @classmethod
    def within(cls, world: World, listen: Callable[[Event], None]) -> Self:
        """Between the CPUs of a race; on two machines, there is nothing to read."""
        spec = latencies_spec(world.load.engine, world.server_cpus, world.load.cpus)
        log = str(world.load.logs / "latencies.log")
        return cls(world.load.host, spec if world.beside else None, log, listen)

    def __enter__(self) -> Self:
        if self._spec is None:
            return self
        try:
            self._process = self._host.converse(self._spec, self._log)
            read_latencies_ready(self._host.ask(self._process, None, START_DEADLINE_S))
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
            self._host.stop(self._process, "SIGTERM", STOP_DEADLINE_S)

    def read(self) -> Latencies:
        """At this moment; no server and no load may run meanwhile."""
        if self._process is None:
            return Latencies()
        try:
            return read_latencies(self._host.ask(self._process, "", READ_DEADLINE_S))
        except DeadheatError as error:
            self._give_up(error)
            return Latencies()

    def _give_up(self, error: DeadheatError) -> None:
        if self._process is not None:
            self._host.stop(self._process, "SIGKILL", 0)
            self._process = None
        text = f"the latencies of the machine are not read: {error}"
        self._listen(Event(text, trouble=True))


def latencies_spec(
    engine: Engine, server_cpus: Sequence[int], load_cpus: Sequence[int]
) -> ProcessSpec:
    """The process that reads them, between these CPUs and from those of the server to memory."""
    command = engine.latencies_command(server_cpus, load_cpus)
    return ProcessSpec(tuple(command), cpus=(*server_cpus, *load_cpus))
