"""`deadheat new`: creates the folder of a new server from an existing one."""

import shlex
from pathlib import Path

import click

from deadheat.catalog import choose
from deadheat.catalog.catalog import distrust
from deadheat.catalog.new import copy_server, root_for_new
from deadheat.cli.choice import open_catalog
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import catalog_option
from deadheat.errors import DeadheatError
from deadheat.output import echo


@listed("new")
@click.argument("name")
@flag("--like", section=Topic.SERVERS, required=True, metavar="SERVER", help="Server to copy.")
@catalog_option
def command(name: str, like: str, catalog: str | None) -> None:
    """NAME is the new server. Its folder is a copy that you edit: the manifest, the application and
    the lock file. It goes to servers/ of the catalog that --catalog names or that you are in;
    otherwise to servers/ of this folder. Shipped servers can be named beside it as before.

    \b
    Example:
      deadheat new python-quart --like python-uvicorn
      deadheat verify python-quart                   after you have edited the files
    """
    source_catalog = open_catalog(catalog)
    sources = choose(source_catalog, [like])
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise DeadheatError(
            f"--like {like!r} matches {len(sources)} servers", f"choose one: {names}"
        )
    root = root_for_new(source_catalog.root, catalog)
    folder = copy_server(sources[0], name, root)
    for path in sorted(folder.rglob("*")):
        echo(_shown(path))
    option = ""
    if catalog is not None:
        option = f" --catalog {shlex.quote(catalog)}"
    elif root != source_catalog.root and distrust(root):
        option = " --catalog ."
    echo(f"edit these files, then run: deadheat verify {name}{option}")


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
