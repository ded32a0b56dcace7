"""Options that several commands share."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deadheat.catalog import find_root
from deadheat.protocol import amend, load_protocol
from deadheat.store import home

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
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", value)
        if found is None or float(found.group(1)) == 0:
            self.fail(f"{value!r}: expected a duration such as 500ms, 5s or 2m", param, ctx)
        return float(found.group(1)) * self._units[found.group(2)]


class Levels(click.ParamType[tuple[int, ...]]):
    """`10,100,1000` -> (10, 100, 1000)."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not all(part.isdigit() and int(part) > 0 for part in parts):
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
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value)
        if found is None or not 0 < float(found.group(1)) < 50:
            self.fail(
                f"{value!r}: expected a percentage above 0 and below 50, such as 3%", param, ctx
            )
        return float(found.group(1)) / 100


def catalog_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--catalog",
        metavar="DIR",
        help="The folder that holds servers/, recipes/ and protocols/.",
    )(command)


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--store",
        "store_path",
        type=FILE,
        help="The file that keeps the runs.  [default: runs.sqlite in DEADHEAT_HOME, or in "
        "~/.local/share/deadheat]",
        default=lambda: home() / "runs.sqlite",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for a machine.")(
        command
    )


def protocol_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The protocol and the flags that change it; the command gets it as `protocol`, amended.

    None where it has a run to resume, whose protocol is stored.
    """

    @functools.wraps(command)
    def with_protocol(*args: Any, protocol: str, **options: Any) -> Any:
        changed = {name: options.pop(name) for name in ("connections", "generator", "duration_s")}
        changed["threads"] = options.pop("load_threads")
        changed["keep_alive"] = False if options.pop("close") else None
        stopping = {n: options.pop(n) for n in ("repetitions", "invocations", "margin", "budget_s")}
        if stopping["repetitions"] is not None:
            stopping["kind"] = "fixed"
        scale, lift_cap = options.pop("duration_scale"), options.pop("no_request_cap")
        if options.get("resume") is not None:
            return command(*args, protocol=None, **options)
        root = find_root(options.get("catalog"))
        amended = amend(load_protocol(root, protocol), changed, stopping, scale, lift_cap)
        return command(*args, protocol=amended, **options)

    flags = (
        click.option(
            "--protocol", default="settle", show_default=True, help="What to measure, and how."
        ),
        click.option("-c", "--connections", type=Levels(), help="Connection levels: 10,100,1000."),
        click.option("-d", "--duration", "duration_s", type=Duration(), help="Of one trial."),
        click.option(
            "--repetitions", type=click.IntRange(1), help="This many, instead of until settled."
        ),
        click.option("--invocations", type=click.IntRange(1), help="Fresh starts of each server."),
        click.option("--margin", type=Share(), help="Closer than this is equivalent.  [3%]"),
        click.option("--budget", "budget_s", type=Duration(), help="Time to settle in.  [5m]"),
        click.option(
            "--generator", type=click.Choice(["engine", "wrk", "ab"]), help="What loads.  [engine]"
        ),
        click.option(
            "--duration-scale",
            type=click.FloatRange(0, min_open=True),
            default=1.0,
            help="Multiply every duration, and label the run so.",
        ),
        click.option(
            "--no-request-cap", is_flag=True, help="Lift a replay's cap on requests (ab -t)."
        ),
        click.option("--load-threads", type=click.IntRange(1), help="CPUs that load.  [1]"),
        click.option("--close", is_flag=True, help="A connection per request."),
    )
    for flag in reversed(flags):
        with_protocol = flag(with_protocol)
    return with_protocol
