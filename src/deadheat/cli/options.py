"""Flags that all kinds of commands share; `race_options` has those of commands that measure."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from deadheat.catalog.manifest import TRANSPORTS, WEEK_S
from deadheat.cli.help import Topic, files_of_own, flag
from deadheat.errors import DeadheatError
from deadheat.home import home

SIZE_BYTES_MIN = 1024
T = TypeVar("T")


class Parsed(click.ParamType[T]):
    """What `parse` makes of a text; it raises `ValueError`. `name` stands for it in the help."""

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if not isinstance(value, str):
            return cast(T, value)  # a default
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def integer(least: int = 1, most: int | None = None) -> Parsed[int]:
    """A whole number from `least`, to `most` if there is one."""
    expected = f"a whole number of at least {least}"
    if most is not None:
        expected = f"a whole number from {least} to {most}"

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,99}", text) else -1
        if value < least or (most is not None and value > most):
            raise ValueError(f"{text!r}: expected {expected}")
        return value

    return Parsed("n", parse)


UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
DURATION_TEXT = "".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in UNITS_S)


def _duration_s(text: str) -> float:
    match = re.fullmatch(DURATION_TEXT, text)
    numbers = match.groups(default="0") if match else ()
    duration_s = sum(
        float(number) * unit_s for number, unit_s in zip(numbers, UNITS_S.values(), strict=False)
    )
    if duration_s == 0:
        raise ValueError(f"{text!r}: expected a duration such as 500ms, 5s or 2m30s")
    if duration_s > WEEK_S:
        raise ValueError(f"{text!r}: expected at most 7 days")
    return duration_s


def _levels(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,6}", part) for part in parts):
        raise ValueError(f"{text!r}: expected positive numbers such as 10,100,1000")
    return tuple(dict.fromkeys(map(int, parts)))


def _transports(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not set(parts) <= set(TRANSPORTS):
        known = f"{', '.join(TRANSPORTS[:-1])} or {TRANSPORTS[-1]}"
        raise ValueError(f"{text!r}: expected {known}, or several such as http,https")
    return tuple(dict.fromkeys(parts))


def _share(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)
    if match is None or not 0 < float(match[1]) < 50:
        raise ValueError(f"{text!r}: expected a percentage above 0 and below 50, such as 3%")
    return float(match[1]) / 100


def _size_bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([KMGT])(?:i?B)?", text)
    size_bytes = int(float(match[1]) * units[match[2]]) if match else 0
    if size_bytes < SIZE_BYTES_MIN:
        raise ValueError(f"{text!r}: expected a size such as 64K, 512M or 4G")
    return size_bytes


DURATION = Parsed("duration", _duration_s)  # 500ms, 5s, 2m, 2m30s -> seconds
LEVELS = Parsed("numbers", _levels)  # 10,100,1000 -> (10, 100, 1000)
TRANSPORT_LIST = Parsed("transports", _transports)  # http,https -> ("http", "https")
PERCENTAGE = Parsed("percent", _share)  # 3% -> 0.03
SIZE = Parsed("size", _size_bytes)  # 512M, 4G -> bytes


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
    section=Topic.SERVERS,
    multiple=True,
    metavar="NAME",
    help="Only servers in this language; repeat it for several.",
)
setting_option = flag(
    "--setting",
    section=Topic.SERVERS,
    default="default",
    metavar="NAME",
    help="Setting in which servers start, e.g. multicore.",
)
seed_option = flag(
    "--seed",
    section=Topic.MEASUREMENT,
    type=integer(0, 2**63 - 1),
    default=lambda: random.randrange(2**31),
    help="Seed of the random order; stored with the run.  [default: random]",
)
install_option = flag(
    "--install",
    section=Topic.BUILDS,
    is_flag=True,
    help="First install the tools that `deadheat list` reports as missing; needs root.",
)
base_image_option = flag(
    "--base-image",
    section=Topic.BUILDS,
    metavar="IMAGE",
    help="Image on which containers are built.  [default: Debian 12, pinned by digest]",
)
json_option = flag("--json", "as_json", section=Topic.OUTPUT, is_flag=True, help="Print JSON.")
verbose_option = flag(
    "-v",
    "--verbose",
    section=Topic.OUTPUT,
    is_flag=True,
    help="Show all tables, the limits and the method.",
)
catalog_option = flag(
    "--catalog",
    section=Topic.OTHER,
    metavar="DIR",
    help="Folder with servers/, recipes/ and protocols/.  [default: DEADHEAT_CATALOG, this "
    "folder or a parent, or the one that comes with deadheat]",
)
store_option = flag(
    "--store",
    "store_path",
    section=Topic.OTHER,
    type=FILE,
    help="File with the stored runs.  [default: runs.sqlite in DEADHEAT_HOME, or in "
    "~/.local/share/deadheat]",
    default=lambda: home() / "runs.sqlite",
)
