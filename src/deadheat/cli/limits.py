"""The options that limit what a command runs; `Limits` has their defaults."""

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from deadheat.cli.options import Duration
from deadheat.host import Limits
from deadheat.host.agent.limits import LOG_BYTES_MAX, MEMORY_SHARE_MAX, PROCESSES_MAX
from deadheat.report.format import MIB

SIZE_BYTES_MIN = 1024


class Size(click.ParamType[int]):
    """`512M`, `4G` -> bytes."""

    name = "size"
    _units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([KMGT])(?:i?B)?", value)
        size_bytes = int(float(match.group(1)) * self._units[match.group(2)]) if match else 0
        if size_bytes < SIZE_BYTES_MIN:
            self.fail(f"{value!r}: expected a size such as 64K, 512M or 4G", param, ctx)
        return size_bytes


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that limit every process tree; the command gets them as `limits`."""
    return _with_limits(command, "each server and build", builds=True)


def server_limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `limit_options`, for a command that builds nothing."""
    return _with_limits(command, "each server", builds=False)


def _with_limits(command: Callable[..., Any], limited: str, builds: bool) -> Callable[..., Any]:
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
            help=f"Memory of {limited}; one that uses more is ended.  "
            f"[default: {100 * MEMORY_SHARE_MAX:.0f} % of the machine's]",
        ),
        click.option(
            "--process-limit",
            type=click.IntRange(1),
            help=f"Number of processes of {limited}.  [default: {PROCESSES_MAX}]",
        ),
        click.option(
            "--log-limit",
            type=Size(),
            help="Size of each log; the middle of a longer one is dropped.  "
            f"[default: {LOG_BYTES_MAX // MIB}M]",
        ),
    ]
    if builds:
        flags.append(
            click.option(
                "--build-timeout",
                type=Duration(),
                help="Time limit of each build step.  "
                "[default: as the manifest says; 1h for regress]",
            )
        )
    for flag in reversed(flags):
        with_limits = flag(with_limits)
    return with_limits


def isolate_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--isolate",
        is_flag=True,
        help="Run servers and load in a network namespace that has only loopback.",
    )(command)
