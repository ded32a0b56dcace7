"""What builds servers for a run: natively on a host, or into images of podman or docker."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.build.builder import Builder, BuildFailed, Built, FarBuilder, tail
from deadheat.build.image import (
    BASE_IMAGE,
    ContainerTool,
    Image,
    container_tool,
    image_file,
    remove_containers,
    runtime_hint,
)
from deadheat.catalog import Probe, Server, Toolchains
from deadheat.catalog.manifest import Need
from deadheat.errors import DeadheatError
from deadheat.home import home
from deadheat.host import Completed, Host, HostError, Limits, ProcessSpec
from deadheat.host.agent.cgroup import cgroup_name, owner_lives
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.output import echo

ASK_S = 30.0
PULL_S = 900.0
PACKAGES = {"podman": "podman crun catatonit", "docker": "docker.io"}


class ImageBuilder(Builder):
    """Keeps a context in `builds/NAME/KEY/` and an image `deadheat/NAME:KEY`.

    The tools of this machine do not count: an image has its own.
    """

    def __init__(
        self, host: Host, folder: Path, tool: ContainerTool, base_image: str, step_s: float | None
    ) -> None:
        """Raises `DeadheatError` if the runtime is missing or its daemon does not run."""
        super().__init__(host, folder, step_s)
        self._tool = tool
        self._base_image = base_image
        self._version = self._ask_version()
        self._base_id: str | None = None

    def probes(self, toolchains: Toolchains, server: Server) -> list[Probe]:
        """What an image is made of besides the folder: it is a part of the build's key."""
        text = image_file(server, self._base_image)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        versions = {
            self._tool.program: self._version,
            "base image": self._base(),
            "Containerfile": digest,
        }
        return [
            Probe(Need(tool=tool, probe=(tool,), install=tool), version, None)
            for tool, version in versions.items()
        ]

    def find(self, server: Server, probes: list[Probe]) -> Built | None:
        built = super().find(server, probes)
        if built is None:
            return None
        image = Image(self._tool, _name(server, built.key))
        return replace(built, image=image) if self._id_of(image.name) else None

    def build(self, server: Server, probes: list[Probe]) -> Built:
        built = super().build(server, probes)
        return replace(built, image=Image(self._tool, _name(server, built.key)))

    def remove_leftovers(self) -> int:
        """Remove the containers of dead processes of deadheat; returns their number."""
        return self._remove(lambda owner: not owner_lives(owner))

    def remove_own(self) -> int:
        """Remove the containers that this process of deadheat has left."""
        return self._remove(lambda owner: owner == self._tool.owner)

    def _run_steps(self, server: Server, path: Path, log_path: Path) -> str:
        file = path.with_suffix(".containerfile")
        text = image_file(server, self._base_image)
        self._write(file, text)
        command = self._tool.build(_name(server, path.name), file, path)
        limit_s = (len(server.steps) + 1) * (self._step_s or server.build_timeout_s)
        done = self._host.run(ProcessSpec(command, limited=True), limit_s)
        log = f"$ {' '.join(command)}\n{text}{done.stdout}{done.stderr}"
        self._write(log_path, log)
        if done.exit_code != 0:
            raise _failed(server, done, log, log_path)
        return log

    def _base(self) -> str:
        """The id of the base image, which is pulled if it is not here."""
        if self._base_id is None:
            self._base_id = self._id_of(self._base_image) or self._pull()
        return self._base_id

    def _pull(self) -> str:
        done = self._host.run(ProcessSpec(self._tool.pull(self._base_image)), PULL_S)
        pulled = self._id_of(self._base_image) if done.exit_code == 0 else None
        if pulled is None:
            raise DeadheatError(
                f"{self._tool.program} cannot pull the base image {self._base_image}:\n"
                f"{tail(done.stdout + done.stderr, 3)}",
                f"name an image that is here (`{self._tool.program} images`): --base-image IMAGE",
            )
        return pulled

    def _id_of(self, image: str) -> str | None:
        done = self._host.run(ProcessSpec(self._tool.image_id(image)), ASK_S)
        return done.stdout.strip() if done.exit_code == 0 else None

    def _ask_version(self) -> str:
        program = self._tool.program
        try:
            done = self._host.run(ProcessSpec(self._tool.version()), ASK_S)
        except HostError as error:
            raise DeadheatError(
                f"--runtime {program}: {program} is not installed",
                f"apt-get install -y {PACKAGES[program]}",
            ) from error
        if done.exit_code != 0:
            start = "; start its daemon: systemctl start docker" if program == "docker" else ""
            raise DeadheatError(
                f"--runtime {program}: `{' '.join(self._tool.version())}` failed:\n"
                f"{tail(done.stdout + done.stderr, 3)}",
                f"`{program} info` says more{start}",
            )
        return done.stdout.strip()

    def _remove(self, is_ours: Callable[[str], bool]) -> int:
        done = self._host.run(ProcessSpec(self._tool.owned()), ASK_S)
        rows = [line.split() for line in done.stdout.splitlines()]
        ids = [row[0] for row in rows if len(row) == 2 and is_ours(row[1])]
        if ids:
            remove_containers(self._host, self._tool, *ids)
        return len(ids)


def _name(server: Server, key: str) -> str:
    return f"localhost/deadheat/{server.name}:{key}"


def _failed(server: Server, done: Completed, log: str, log_path: Path) -> BuildFailed:
    outcome = done.limit or (
        "it took too long" if done.exit_code is None else f"exit code {done.exit_code}"
    )
    hint = f"the complete log is in {log_path}"
    if (known := runtime_hint(done.stdout + done.stderr)) is not None:
        hint = f"{known}; {hint}"
    return BuildFailed(f"{server.name}: its image cannot be built ({outcome})\n{tail(log)}", hint)


NATIVE = "native"


@dataclass(frozen=True, slots=True)
class ServerRuntime:
    """What runs servers: this machine itself, or containers of podman or docker."""

    program: str = NATIVE
    base_image: str | None = None

    def __bool__(self) -> bool:
        """Whether servers run in containers."""
        return self.program != NATIVE

    def require_sense(self, **excluded: object) -> None:
        """Raises `DeadheatError` for an option that `--runtime` excludes, by its name."""
        if self.base_image is not None and not self:
            raise DeadheatError(
                "--base-image: expected --runtime podman or --runtime docker",
                "natively, servers are built with the tools of this machine",
            )
        for name, given in excluded.items():
            if self and given:
                raise DeadheatError(
                    f"--runtime {self.program} and --{name.replace('_', '-')} exclude each other",
                    "omit one of them; docs/containers.md says what containers can do",
                )


def builder_on(host: Host, limits: Limits | None = None) -> Builder:
    """A builder that writes to deadheat's home, or to the cache of another machine."""
    step_s = limits.build_step_s if limits else None
    if isinstance(host, SshHost):
        return FarBuilder(host, step_s)
    return Builder(host, home() / "builds", step_s)


@contextmanager
def builder_of(
    runtime: ServerRuntime, host: Host, cpus: Sequence[int], limits: Limits
) -> Iterator[Builder]:
    """A builder on `host` for servers that run on `cpus`.

    Containers that a killed deadheat left are removed first.
    """
    if not runtime:
        yield builder_on(host, limits)
        return
    tool = container_tool(runtime.program, cgroup_name(), cpus, limits)
    base_image = runtime.base_image or BASE_IMAGE
    builder = ImageBuilder(host, home() / "builds", tool, base_image, limits.build_step_s)
    if removed := builder.remove_leftovers():
        containers = "1 container" if removed == 1 else f"{removed} containers"
        echo(f"removed {containers} that a killed deadheat had left", err=True)
    try:
        yield builder
    finally:
        with suppress(HostError):
            builder.remove_own()


@contextmanager
def host_for_builds(server_host: Host, limits: Limits, isolate: bool) -> Iterator[Host]:
    """The server host; if it is isolated, this machine, because builds download packages."""
    if not isolate:
        yield server_host
        return
    with LocalHost(limits=limits) as host:
        yield host
