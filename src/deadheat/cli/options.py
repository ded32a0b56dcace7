"""Command-line options that several commands share."""

import functools
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deadheat.catalog import find_root
from deadheat.catalog.manifest import WEEK_S
from deadheat.errors import DeadheatError
from deadheat.store import home
from deadheat.workload import HELLO, load_workload

FILE = click.Path(path_type=Path, dir_okay=False)


class Duration(click.ParamType[float]):
    """`500ms`, `5s`, `2m` -> seconds."""

    name = "duration"
    _units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}  # noqa: RUF012

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float | int):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", value)
        if match is None or float(match.group(1)) == 0:
            self.fail(f"{value!r}: expected a duration such as 500ms, 5s or 2m", param, ctx)
        duration_s = float(match.group(1)) * self._units[match.group(2)]
        if duration_s > WEEK_S:
            self.fail(f"{value!r}: expected at most 7 days", param, ctx)
        return duration_s


class Levels(click.ParamType[tuple[int, ...]]):
    """`10,100,1000` -> (10, 100, 1000)."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not all(re.fullmatch(r"0*[1-9][0-9]{0,6}", part) for part in parts):
            self.fail(f"{value!r}: expected positive numbers such as 10,100,1000", param, ctx)
        return tuple(dict.fromkeys(int(part) for part in parts))


class Share(click.ParamType[float]):
    """`3%` -> 0.03."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value)
        if match is None or not 0 < float(match.group(1)) < 50:
            self.fail(
                f"{value!r}: expected a percentage above 0 and below 50, such as 3%", param, ctx
            )
        return float(match.group(1)) / 100


def catalog_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--catalog",
        metavar="DIR",
        help="Folder with servers/, recipes/ and protocols/.",
    )(command)


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--store",
        "store_path",
        type=FILE,
        help="File with the stored runs.  [default: runs.sqlite in DEADHEAT_HOME, or in "
        "~/.local/share/deadheat]",
        default=lambda: home() / "runs.sqlite",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def verbose_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "-v", "--verbose", is_flag=True, help="Add all tables, the limits and the method."
    )(command)


def install_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--install", is_flag=True, help="First install what `deadheat list` reports as missing."
    )(command)


def seed_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        default=lambda: random.randrange(2**31),
        help="Seed of the random order; stored with the run.  [default: random]",
    )(command)


def one_workload_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--workload",
        metavar="NAME|FILE",
        help="Requests to send: see `deadheat workloads`.  [default: hello]",
    )(command)


def workload_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--workload",
        metavar="NAME|FILE",
        help="Requests to send, several as hello,route: see `deadheat workloads`.  "
        "[default: hello]",
    )(command)


def workload_values(root: Path, names: str | None) -> tuple[dict[str, Any], ...] | None:
    """Workloads as a value of a protocol; None if none is named. Raises `DeadheatError`."""
    if names is None:
        return None
    chosen = list(dict.fromkeys(name.strip() for name in names.split(",")))
    if not all(chosen):
        raise DeadheatError(
            f"--workload {names!r}: expected names or files", "for example --workload hello,route"
        )
    if chosen == [HELLO]:
        return ()
    workloads = [load_workload(root, name) for name in chosen]
    for name, workload in zip(chosen, workloads, strict=True):
        if workload.name == HELLO and name != HELLO:
            raise DeadheatError(
                f"--workload {name}: its name is that of the default workload",
                "rename the file and its `name`",
            )
    return tuple(workload.model_dump() for workload in workloads)


def protocol_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--protocol and the flags that change it; the command gets the result as `protocol`.

    It gets None with --resume and --more, because the protocol of that run is stored.
    """

    @functools.wraps(command)
    def with_protocol(*args: Any, protocol: str, **options: Any) -> Any:
        changes = {name: options.pop(name) for name in ("connections", "generator", "duration_s")}
        changes["threads"] = options.pop("load_threads")
        changes["keep_alive"] = False if options.pop("close") else None
        stopping = {n: options.pop(n) for n in ("repetitions", "invocations", "margin", "budget_s")}
        if stopping["repetitions"] is not None:
            stopping["kind"] = "fixed"
        workload = options.pop("workload")
        scale, lift_cap = options.pop("duration_scale"), options.pop("no_request_cap")
        if options.get("resume") is not None or options.get("more_s") is not None:
            return command(*args, protocol=None, **options)
        from deadheat.protocol import amend, load_protocol

        root = find_root(options.get("catalog"))
        changes["workloads"] = workload_values(root, workload)
        amended = amend(load_protocol(root, protocol), changes, stopping, scale, lift_cap)
        return command(*args, protocol=amended, **options)

    flags = (
        click.option(
            "--protocol",
            default="settle",
            show_default=True,
            help="What to measure and how: a name or a file.",
        ),
        click.option(
            "-c", "--connections", type=Levels(), help="Connection levels, e.g. 10,100,1000."
        ),
        click.option(
            "-d", "--duration", "duration_s", type=Duration(), help="Duration of one trial."
        ),
        click.option(
            "--repetitions",
            type=click.IntRange(1),
            help="Stop after this many repetitions instead of when the order is settled.",
        ),
        click.option(
            "--invocations", type=click.IntRange(1), help="Number of fresh starts of each server."
        ),
        click.option("--margin", type=Share(), help="Equivalence margin.  [settle: 3%]"),
        click.option(
            "--budget",
            "budget_s",
            type=Duration(),
            help="Stop after this long, even if undecided.  [settle: 5m]",
        ),
        click.option(
            "--generator",
            type=click.Choice(["engine", "wrk", "ab"]),
            help="Load generator.  [settle: engine]",
        ),
        click.option(
            "--duration-scale",
            type=click.FloatRange(0, min_open=True),
            default=1.0,
            help="Multiply every duration by this; the report says so.",
        ),
        click.option(
            "--no-request-cap",
            is_flag=True,
            help="Remove the limit on requests that ab -t sets in a replay.",
        ),
        click.option(
            "--load-threads",
            type=click.IntRange(1),
            help="CPUs of the load generator.  [settle: 1]",
        ),
        click.option("--close", is_flag=True, help="Open a new connection for each request."),
        workload_option,
    )
    for flag in reversed(flags):
        with_protocol = flag(with_protocol)
    return with_protocol
