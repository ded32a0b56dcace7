"""`deadheat new`: creates the folder of a new server from an existing one."""

import shlex
from pathlib import Path

import click

from deadheat.catalog import choose
from deadheat.catalog.catalog import distrust
from deadheat.catalog.new import HELLO, copy_server, root_for_new
from deadheat.cli.choice import open_catalog
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import catalog_option
from deadheat.errors import DeadheatError
from deadheat.output import echo


@listed("new")
@click.argument("name")
@flag("--like", section=Topic.SERVERS, metavar="SERVER", help="Server to copy.")
@flag(
    "--hello",
    section=Topic.SERVERS,
    type=click.Choice([*HELLO]),
    help="Write the smallest application in this language instead of a copy.",
)
@catalog_option
def command(name: str, like: str | None, hello: str | None, catalog: str | None) -> None:
    """NAME is the new server. Its folder is a copy that you edit: the manifest, the application and
    the lock file. It goes to servers/ of the catalog that --catalog names or that you are in;
    otherwise to servers/ of this folder. Shipped servers can be named beside it as before.

    \b
    Examples:
      deadheat new python-quart --like python-uvicorn
      deadheat new my-go --hello go                  a dozen lines to begin with
      deadheat verify python-quart                   after you have edited the files
    """
    if (like is None) == (hello is None):
        raise click.UsageError(f"give --like SERVER, or --hello {'|'.join(HELLO)}")
    source_catalog = open_catalog(catalog)
    like = like or HELLO[hello or ""][0]
    sources = choose(source_catalog, [like])
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise DeadheatError(
            f"--like {like!r} matches {len(sources)} servers", f"choose one: {names}"
        )
    root = root_for_new(source_catalog.root, catalog)
    folder = copy_server(sources[0], name, root, hello)
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
