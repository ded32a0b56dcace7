"""The compiler of a runtime, while an instance warms up."""

from dataclasses import dataclass

from deadheat.measure.lifecycle import Instance
from deadheat.measure.world import World


@dataclass(frozen=True, slots=True)
class InstanceCompiler:
    """The compiler threads of an instance, if it is ours and has any that can be seen.

    A server on one CPU shares it with its compiler: with 200 threads, Spring Boot is not warm after
    30 s of load. While it warms up, its compiler may use the other CPUs too. They send the load,
    and have time to spare as long as the server is slow. The server's other threads stay where they
    are. So its rate is what its own CPUs give, and a JVM does not count more of them.
    """

    world: World
    instance: Instance

    def busy_s(self) -> float | None:
        """Time that its threads ran or waited for a CPU so far; None if there are none to see."""
        process = self.instance.process
        return self.world.server_host.compiler_busy_s(process) if process else None

    def spread(self) -> None:
        """Let its threads run on every CPU of the host; threads that start later do not."""
        if self.instance.process:
            self.world.server_host.place_compiler(self.instance.process, None)

    def confine(self) -> None:
        """Put its threads back on the CPUs of the server."""
        if self.instance.process:
            self.world.server_host.place_compiler(self.instance.process, self.world.server_cpus)
