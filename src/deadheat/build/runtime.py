"""What builds servers for a run: natively on a host, or into images of podman or docker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from deadheat.build.builder import Builder, FarBuilder
from deadheat.build.image import BASE_IMAGE, container_tool
from deadheat.build.image_builder import ImageBuilder
from deadheat.errors import DeadheatError
from deadheat.home import home
from deadheat.host import Host, HostError, Limits
from deadheat.host.agent.cgroup import cgroup_name
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.output import echo

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
