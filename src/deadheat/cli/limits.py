"""The options that limit what a command runs; `Limits` has their defaults."""

import functools
from collections.abc import Callable
from typing import Any

import click

from deadheat.cli.values import Duration, Number, Size
from deadheat.host import Limits
from deadheat.host.agent.program import LOG_BYTES_MAX, MEMORY_SHARE_MAX, PROCESSES_MAX
from deadheat.report.format import MIB


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that limit every process tree; the command gets them as `limits`."""
    return _with_limits(command, "each server and build", "as the manifest says")


def revision_limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `limit_options`, for a command that builds revisions, which have no manifest."""
    return _with_limits(command, "each server and build", "1h")


def server_limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `limit_options`, for a command that builds nothing."""
    return _with_limits(command, "each server")


def _with_limits(
    command: Callable[..., Any], limited: str, build_timeout: str | None = None
) -> Callable[..., Any]:
    """`build_timeout` is the default of a build step as text; None for a command without builds."""

    @functools.wraps(command)
    def with_limits(*args: Any, **options: Any) -> Any:
        limits = Limits(
            memory_bytes=options.pop("memory_limit"),
            processes=options.pop("process_limit"),
            log_bytes=options.pop("log_limit"),
            build_step_s=options.pop("build_timeout", None),
        )
        return command(*args, limits=limits, **options)

    flags = [
        click.option(
            "--memory-limit",
            type=Size(),
            help=f"Memory for {limited}; one that uses more is ended.  "
            f"[default: {100 * MEMORY_SHARE_MAX:.0f} % of the machine's]",
        ),
        click.option(
            "--process-limit",
            type=Number(),
            help=f"Number of processes for {limited}.  [default: {PROCESSES_MAX}]",
        ),
        click.option(
            "--log-limit",
            type=Size(),
            help="Size of each log; the middle of a longer one is dropped.  "
            f"[default: {LOG_BYTES_MAX // MIB}M]",
        ),
    ]
    if build_timeout is not None:
        flags.append(
            click.option(
                "--build-timeout",
                type=Duration(),
                help=f"Time limit of each build step.  [default: {build_timeout}]",
            )
        )
    for flag in reversed(flags):
        with_limits = flag(with_limits)
    return with_limits


def isolate_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--isolate",
        is_flag=True,
        help="Run servers and load in a network namespace with loopback only.",
    )(command)
