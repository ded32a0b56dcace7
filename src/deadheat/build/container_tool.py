"""`ContainerTool`: the command lines of podman or docker."""

import os
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat.host import Limits
from deadheat.host.agent.limits import MEMORY_SHARE_MAX, PROCESSES_MAX

LABEL = "deadheat.agent"  # of every container; its value says who started it
THREADS_PER_PROCESS_MAX = 64  # the kernel's limit counts threads, deadheat's processes
Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContainerTool:
    """What every container gets: CPUs, limits, and `owner`, which names this process of deadheat.

    `open_files` and `user_processes` are ulimits; the runtimes set more than a machine may allow.
    """

    program: str  # podman, docker
    owner: str
    cpus: tuple[int, ...]
    memory_bytes: int
    threads: int
    open_files: int
    user_processes: int

    def version(self) -> Command:
        """The version; docker's is that of its daemon, which has to run."""
        part = "Server" if self.program == "docker" else "Client"
        return (self.program, "version", "--format", f"{{{{.{part}.Version}}}}")

    def image_id(self, image: str) -> Command:
        return (self.program, "image", "inspect", "--format", "{{.Id}}", image)

    def pull(self, image: str) -> Command:
        return (self.program, "pull", image)

    def build(self, image: str, file: Path, context: Path) -> Command:
        """With podman, in the process tree of the build: deadheat's limits hold there too."""
        own = ("--isolation", "chroot") if self.program == "podman" else ()
        place = ("--file", str(file), "--tag", image, str(context))
        return (self.program, "build", *own, "--network", "host", *place)

    def run(self, image: str, name: str, command: Sequence[str], env: Mapping[str, str]) -> Command:
        """A container in the foreground. Its first process is an init, which forwards signals.

        podman lets the server write to the log itself; docker copies its output.
        """
        log = "passthrough" if self.program == "podman" else "none"
        return (
            *(self.program, "run", "--name", name, "--label", f"{LABEL}={self.owner}"),
            *("--init", "--network", "host", "--log-driver", log, "--pull", "never"),
            *("--cpuset-cpus", ",".join(map(str, self.cpus))),
            *("--memory", str(self.memory_bytes), "--pids-limit", str(self.threads)),
            *self._ulimits(),
            *(word for name, value in env.items() for word in ("--env", f"{name}={value}")),
            *(image, *command),
        )

    def once(self, image: str, command: Sequence[str]) -> Command:
        """A container that ends by itself and leaves nothing."""
        label = ("--label", f"{LABEL}={self.owner}", "--pull", "never")
        return (
            *(self.program, "run", "--rm", "--network", "host", *label, *self._ulimits()),
            *(image, *command),
        )

    def first_process(self, name: str) -> Command:
        return (self.program, "inspect", "--format", "{{.State.Pid}}", name)

    def was_killed_for_memory(self, name: str) -> Command:
        return (self.program, "inspect", "--format", "{{.State.OOMKilled}}", name)

    def remove(self, *names: str) -> Command:
        """Kill them if they run, and remove them."""
        at_once = ("--time", "0") if self.program == "podman" else ()
        return (self.program, "rm", "--force", *at_once, *names)

    def owned(self) -> Command:
        """Ids of all containers of deadheat, each with the label of its owner."""
        what = ("--all", "--no-trunc", "--filter", f"label={LABEL}")
        owner = f'index .Labels "{LABEL}"' if self.program == "podman" else f'.Label "{LABEL}"'
        return (self.program, "ps", *what, "--format", f"{{{{.ID}}}} {{{{{owner}}}}}")

    def _ulimits(self) -> Command:
        files, processes = self.open_files, self.user_processes
        return (
            *("--ulimit", f"nofile={files}:{files}"),
            *("--ulimit", f"nproc={processes}:{processes}"),
        )


def container_tool(program: str, owner: str, cpus: Sequence[int], limits: Limits) -> ContainerTool:
    """The tool with the limits of this machine where `limits` has none."""
    memory_total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    processes = limits.processes or PROCESSES_MAX
    return ContainerTool(
        program=program,
        owner=owner,
        cpus=tuple(cpus),
        memory_bytes=limits.memory_bytes or int(MEMORY_SHARE_MAX * memory_total_bytes),
        threads=processes * THREADS_PER_PROCESS_MAX,
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        user_processes=_user_processes(),
    )


def _user_processes() -> int:
    """The hard limit; podman lowers its own to the number of PIDs, and cannot raise it again."""
    pids = int(Path("/proc/sys/kernel/pid_max").read_text())
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    return pids if hard == resource.RLIM_INFINITY else min(hard, pids)
