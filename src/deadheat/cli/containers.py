"""`--runtime` and `--base-image`: servers in containers instead of natively."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import click

from deadheat.build.builder import Builder
from deadheat.build.image import BASE_IMAGE, container_tool
from deadheat.build.image_builder import ImageBuilder
from deadheat.cli.workbench import builder_on
from deadheat.errors import DeadheatError
from deadheat.host import Host, HostError, Limits
from deadheat.host.agent.cgroup import cgroup_name
from deadheat.measure.world import World
from deadheat.output import echo
from deadheat.report.format import count
from deadheat.store import home

NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Runtime:
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


def base_image_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--base-image",
        metavar="IMAGE",
        help="Image on which containers are built.  [default: Debian 12, pinned by digest]",
    )(command)


def runtime_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags; the command gets them as `runtime`."""

    @functools.wraps(command)
    def with_runtime(*args: Any, runtime: str, base_image: str | None, **options: Any) -> Any:
        return command(*args, runtime=Runtime(runtime, base_image), **options)

    runtime = click.option(
        "--runtime",
        type=click.Choice([NATIVE, "podman", "docker"]),
        default=NATIVE,
        show_default=True,
        metavar="NAME",
        help="Run the catalog's servers as native processes, or in containers of podman or docker.",
    )
    return runtime(base_image_option(with_runtime))


def native_only(cause: str, hint: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Hidden `--runtime` and `--base-image`, which a command that cannot use them refuses."""

    def refuse(_: click.Context, option: click.Parameter, value: str | None) -> None:
        if value not in (None, NATIVE):
            raise DeadheatError(f"{option.opts[0]} {value}: {cause}", hint)

    def with_refusal(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in ("--base-image", "--runtime"):
            flag = click.option(name, hidden=True, expose_value=False, callback=refuse)
            command = flag(command)
        return command

    return with_refusal


@contextmanager
def builder_of(runtime: Runtime, host: Host, world: World, limits: Limits) -> Iterator[Builder]:
    """A builder on `host`. Containers that a killed deadheat left are removed first."""
    if not runtime:
        yield builder_on(host, limits)
        return
    tool = container_tool(runtime.program, cgroup_name(), world.server_cpus, limits)
    base_image = runtime.base_image or BASE_IMAGE
    builder = ImageBuilder(host, home() / "builds", tool, base_image, limits.build_step_s)
    if removed := builder.remove_leftovers():
        echo(f"removed {count(removed, 'container')} that a killed deadheat had left", err=True)
    try:
        yield builder
    finally:
        with suppress(HostError):
            builder.remove_own()
