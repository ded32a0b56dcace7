"""Images of servers, with podman or docker: Containerfiles, command lines, containers."""

import json
import os
import resource
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.catalog import Selection, Server, fill, fill_env
from deadheat.host import Exited, Host, HostError, Limits, ProcessSpec
from deadheat.host.agent.program import MEMORY_SHARE_MAX, PROCESSES_MAX

# debian:bookworm-20250811-slim, the index of all architectures.
BASE_IMAGE = "debian@sha256:b1a741487078b369e78119849663d7f1a5341ef2768798f7b7406c4240f86aef"
FOLDER = "/app"  # what {build} is in an image
PORT = 8080
ANY = "0.0.0.0"
LABEL = "deadheat.agent"  # of every container; its value says who started it
THREADS_PER_PROCESS_MAX = 64  # the kernel's limit counts threads, deadheat's processes
Command = tuple[str, ...]
ASK_S = 30.0
KILLED = -9
REMOVALS = 3
HINTS = {  # what a runtime prints -> what to do
    "cgroups in hybrid mode not supported": 'use runc: runtime = "runc" in containers.conf; '
    "docs/containers.md shows how",
    'exec: "catatonit"': "apt-get install -y catatonit",
    "container-init binary not found": "apt-get install -y catatonit",
}


def containerfile(selection: Selection, base_image: str = BASE_IMAGE) -> str:
    """The Containerfile of a server at a setting; its context is the server's folder.

    The arguments of all commands are JSON lists, so no shell changes them.
    """
    start = selection.start
    values = {
        "build": FOLDER,
        "host": ANY,
        "port": str(PORT),
        "workers": str(start.workers),
        "threads": str(start.threads),
    }
    lines = [
        f"# {selection.name}, from {selection.server.name}/server.toml and its recipe.",
        "# The context is the folder of the server, with its lock file.",
        *_image_lines(selection.server, base_image),
        *_environment(fill_env(start.env, values)),
        f"STOPSIGNAL {start.stop_signal}",
        f"CMD {json.dumps(fill(start.command, values))}",
    ]
    return "\n".join(lines) + "\n"


def bootstrap_lines(server: Server) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shell lines that install what a server needs, and those that build it in its folder."""
    return _installs(server), tuple(map(shlex.join, _steps(server, ".")))


def _installs(server: Server) -> tuple[str, ...]:
    return tuple(dict.fromkeys(need.install for need in server.needs))


def _steps(server: Server, folder: str) -> Iterator[list[str]]:
    """The words of each build step in the folder, `NAME=VALUE` of its environment first."""
    values = {"build": folder}
    env = [f"{name}={value}" for name, value in fill_env(server.build_env, values).items()]
    for step in server.steps:
        yield [*env, *fill(step, values)]


def image_file(server: Server, base_image: str) -> str:
    """A Containerfile that only builds: deadheat gives the command and its environment itself."""
    return "\n".join(_image_lines(server, base_image)) + "\n"


def _image_lines(server: Server, base_image: str) -> Iterable[str]:
    yield f"ARG BASE_IMAGE={base_image}"
    yield "FROM ${BASE_IMAGE}"
    if installs := _installs(server):
        yield from _shell(["apt-get update", *installs, "rm -rf /var/lib/apt/lists/*"])
    yield f"WORKDIR {FOLDER}"
    yield "COPY . ."
    for words in _steps(server, FOLDER):
        yield f"RUN {json.dumps(['env', *words] if server.build_env else words)}"


def _shell(commands: list[str]) -> Iterable[str]:
    """One layer; the first command that fails ends it."""
    if any("\n" in command for command in commands):
        yield f"RUN {json.dumps(['sh', '-c', ' && '.join(commands)])}"
        return
    yield "RUN export DEBIAN_FRONTEND=noninteractive \\"
    for command in commands[:-1]:
        yield f" && {command} \\"
    yield f" && {commands[-1]}"


def _environment(env: Mapping[str, str]) -> Iterable[str]:
    for name, value in env.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
        yield f'ENV {name}="{escaped}"'


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

    def run(
        self,
        image: str,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        folders: Sequence[str] = (),
    ) -> Command:
        """A container in the foreground. Its first process is an init, which forwards signals.

        It sees `folders` of this machine, and cannot change them.

        podman lets the server write to the log itself; docker copies its output.
        """
        log = "passthrough" if self.program == "podman" else "none"
        return (
            *(self.program, "run", "--name", name, "--label", f"{LABEL}={self.owner}"),
            *("--init", "--network", "host", "--log-driver", log, "--pull", "never"),
            *("--cpuset-cpus", ",".join(map(str, self.cpus))),
            *("--memory", str(self.memory_bytes), "--pids-limit", str(self.threads)),
            *self._ulimits(),
            *(word for path in folders for word in ("--volume", f"{path}:{path}:ro,z")),
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

    def state(self, name: str, part: str) -> Command:
        """A part of a container's state, such as `Pid`."""
        return (self.program, "inspect", "--format", f"{{{{.State.{part}}}}}", name)

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

    def command(
        self, port: int, command: Sequence[str], env: Mapping[str, str], folders: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """What runs `command` in a container, in the foreground; it reads `folders`."""
        return self.tool.run(self.name, self._container(port), command, env, folders)

    def first_process(self, host: Host, port: int) -> int:
        """The PID of the container's first process. Raises `HostError` if it does not run."""
        done = host.run(ProcessSpec(self.tool.state(self._container(port), "Pid")), ASK_S)
        pid = done.stdout.strip()
        if done.exit_code != 0 or not pid.isdigit() or pid == "0":
            raise HostError(f"container {self._container(port)} does not run")
        return int(pid)

    def explained(self, host: Host, port: int, exited: Exited) -> Exited:
        """How it ended, with the limit if the kernel killed it for its memory."""
        if exited.limit is not None or exited.exit_code != KILLED:
            return exited
        done = host.run(ProcessSpec(self.tool.state(self._container(port), "OOMKilled")), ASK_S)
        if done.stdout.strip() != "true":
            return exited
        limit = f"{self.tool.memory_bytes / 2**30:.2f} GiB"
        return replace(exited, limit=f"memory_limit: the kernel killed it, limit {limit}")

    def remove(self, host: Host, port: int) -> None:
        """Remove the container, also one that runs."""
        remove_containers(host, self.tool, self._container(port))

    def _container(self, port: int) -> str:
        return f"{self.tool.owner}-{port}"
