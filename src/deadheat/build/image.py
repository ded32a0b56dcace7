"""`Image`: a server built into an image, and the containers that run it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deadheat.build.container_tool import ContainerTool
from deadheat.host import Exited, Host, HostError, ProcessSpec

ASK_S = 30.0
KILLED = -9
REMOVALS = 3
HINTS = {  # what a runtime prints -> what to do
    "cgroups in hybrid mode not supported": 'use runc: runtime = "runc" in containers.conf; '
    "docs/containers.md shows how",
    'exec: "catatonit"': "apt-get install -y catatonit",
    "container-init binary not found": "apt-get install -y catatonit",
}


def runtime_hint(output: str) -> str | None:
    """What to do about a fault of the runtime; None if it is not a known one."""
    return next((hint for text, hint in HINTS.items() if text in output), None)


def remove_containers(host: Host, tool: ContainerTool, *names: str) -> None:
    """Remove them, also those that run.

    podman 4.3 fails the first time if the kernel killed a container and it has not noticed yet.
    """
    for _ in range(REMOVALS):
        if host.run(ProcessSpec(tool.remove(*names)), ASK_S).exit_code == 0:
            return


@dataclass(frozen=True, slots=True)
class Image:
    """An image with the folder of a build. A container of it is named after its port."""

    tool: ContainerTool
    name: str

    def command(self, port: int, command: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
        """What runs `command` in a container, in the foreground."""
        return self.tool.run(self.name, self._container(port), command, env)

    def first_process(self, host: Host, port: int) -> int:
        """The PID of the container's first process. Raises `HostError` if it does not run."""
        done = host.run(ProcessSpec(self.tool.first_process(self._container(port))), ASK_S)
        pid = done.stdout.strip()
        if done.exit_code != 0 or not pid.isdigit() or pid == "0":
            raise HostError(f"container {self._container(port)} does not run")
        return int(pid)

    def explained(self, host: Host, port: int, exited: Exited) -> Exited:
        """How it ended, with the limit if the kernel killed it for its memory."""
        if exited.limit is not None or exited.exit_code != KILLED:
            return exited
        done = host.run(ProcessSpec(self.tool.was_killed_for_memory(self._container(port))), ASK_S)
        if done.stdout.strip() != "true":
            return exited
        limit = f"{self.tool.memory_bytes / 2**30:.2f} GiB"
        return replace(exited, limit=f"memory_limit: the kernel killed it, limit {limit}")

    def remove(self, host: Host, port: int) -> None:
        """Remove the container, also one that runs."""
        remove_containers(host, self.tool, self._container(port))

    def _container(self, port: int) -> str:
        return f"{self.tool.owner}-{port}"
