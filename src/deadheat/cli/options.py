"""Options that several commands share."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deadheat.store import home


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
        type=click.Path(path_type=Path, dir_okay=False),
        help="The file that keeps the runs.  [default: runs.sqlite in DEADHEAT_HOME, or in "
        "~/.local/share/deadheat]",
        default=lambda: home() / "runs.sqlite",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for a machine.")(
        command
    )
