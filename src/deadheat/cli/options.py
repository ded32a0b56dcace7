"""Flags that all kinds of commands share; `race_options` has those of commands that measure."""

import random
from pathlib import Path

import click

from deadheat.cli.help import Topic, flag
from deadheat.cli.values import Number
from deadheat.errors import DeadheatError
from deadheat.home import home

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


def complete_servers(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The servers whose names begin with the word; nothing without a catalog."""
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
    type=Number(0, 2**63 - 1),
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
