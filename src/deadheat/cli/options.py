"""Flags that all kinds of commands share; `race_options` has those of commands that measure."""

import random
import re
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from deadheat.catalog.manifest import TRANSPORTS, WEEK_S
from deadheat.cli.help import files_of_own, flag
from deadheat.errors import DeadheatError
from deadheat.home import home

SIZE_BYTES_MIN = 1024


class Number(click.ParamType[int]):
    """A whole number from `least`, to `most` if there is one."""

    name = "n"

    def __init__(self, least: int = 1, most: int | None = None) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        number = int(value) if re.fullmatch(r"[0-9]{1,99}", value) else -1
        if number < self._least or (self._most is not None and number > self._most):
            expected = f"a whole number of at least {self._least}"
            if self._most is not None:
                expected = f"a whole number from {self._least} to {self._most}"
            self.fail(f"{value!r}: expected {expected}", param, ctx)
        return number


class Duration(click.ParamType[float]):
    """`500ms`, `5s`, `2m`, `2m30s` -> seconds."""

    name = "duration"
    _units_s = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}  # noqa: RUF012
    _parts = "".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in _units_s)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float | int):
            return float(value)
        match = re.fullmatch(self._parts, value)
        numbers = match.groups(default="0") if match else ()
        duration_s = sum(
            float(number) * unit_s
            for number, unit_s in zip(numbers, self._units_s.values(), strict=False)
        )
        if duration_s == 0:
            self.fail(f"{value!r}: expected a duration such as 500ms, 5s or 2m30s", param, ctx)
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


class Rates(click.ParamType[tuple[float | str, ...]]):
    """`1000,10000` -> (1000.0, 10000.0); `10%` stays: it is a share of a rate to be measured."""

    name = "rates"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float | str, ...]:
        if isinstance(value, tuple):
            return value
        from deadheat.protocol.model import SHARE_TEXT  # `list` needs no protocol

        rates: list[float | str] = []
        for part in (part.strip() for part in value.split(",")):
            if re.fullmatch(SHARE_TEXT, part):
                rates.append(part)
            elif re.fullmatch(r"\d{1,9}(\.\d{1,6})?", part) and float(part) > 0:
                rates.append(float(part))
            else:
                expected = "requests/s or shares below 100%, such as 1000,10000 or 10%"
                self.fail(f"{part!r}: expected {expected}", param, ctx)
        return tuple(dict.fromkeys(rates))


class Transports(click.ParamType[tuple[str, ...]]):
    """`http,https` -> ("http", "https")."""

    name = "transports"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not set(parts) <= set(TRANSPORTS):
            known = f"{', '.join(TRANSPORTS[:-1])} or {TRANSPORTS[-1]}"
            self.fail(f"{value!r}: expected {known}, or several such as http,https", param, ctx)
        return tuple(dict.fromkeys(parts))


class Percentage(click.ParamType[float]):
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


class _Place(click.Path):
    """A path; an empty one, as of an unset variable of a script, would be this folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty; expected a path", param, ctx)
        return super().convert(value, param, ctx)


FILE = _Place(path_type=Path, dir_okay=False)
FOLDER = _Place(path_type=Path, file_okay=False)


def complete_servers(
    ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem] | list[str]:
    """The servers whose names begin with the word; nothing without a catalog. Files behind `--`."""
    if files := files_of_own(ctx, incomplete):
        return files
    from deadheat.catalog import find_root
    from deadheat.catalog.layers import shipped_root

    try:
        root = find_root(ctx.params.get("catalog"))
        places = {root, shipped_root() or root}
        manifests = (path for place in places for path in place.glob("servers/*/server.toml"))
        names = {path.parent.name for path in manifests}
    except (DeadheatError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete))


servers_argument = click.argument("servers", nargs=-1, shell_complete=complete_servers)
language_option = flag(
    "--language",
    "languages",
    multiple=True,
    metavar="NAME",
    help="Only servers in this language; repeat it for several.",
)
setting_option = flag(
    "--setting",
    default="default",
    metavar="NAME",
    help="Setting in which servers start, e.g. multicore.",
)
seed_option = flag(
    "--seed",
    type=Number(0, 2**63 - 1),
    default=lambda: random.randrange(2**31),
    help="Seed of the random order; stored with the run.  [default: random]",
)
install_option = flag(
    "--install",
    is_flag=True,
    help="First install the tools that `deadheat list` reports as missing; needs root.",
)
base_image_option = flag(
    "--base-image",
    metavar="IMAGE",
    help="Image on which containers are built.  [default: Debian 12, pinned by digest]",
)
json_option = flag("--json", "as_json", is_flag=True, help="Print JSON.")
verbose_option = flag(
    "-v", "--verbose", is_flag=True, help="Show all tables, the limits and the method."
)
catalog_option = flag(
    "--catalog",
    metavar="DIR",
    help="Folder with servers/, recipes/ and protocols/.  [default: DEADHEAT_CATALOG, this "
    "folder or a parent, or the one that comes with deadheat]",
)
store_option = flag(
    "--store",
    "store_path",
    type=FILE,
    help="File with the stored runs.  [default: runs.sqlite in DEADHEAT_HOME, or in "
    "~/.local/share/deadheat]",
    default=lambda: home() / "runs.sqlite",
)
