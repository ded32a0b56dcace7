"""`deadheat new`: creates the folder of a new server from an existing one."""

from pathlib import Path

import click

from deadheat.catalog import choose
from deadheat.catalog.new import copy_server
from deadheat.cli.options import catalog_option
from deadheat.cli.workbench import open_catalog
from deadheat.errors import DeadheatError
from deadheat.output import echo


@click.command("new")
@click.argument("name")
@click.option("--like", required=True, metavar="SERVER", help="Server to copy.")
@catalog_option
def command(name: str, like: str, catalog: str | None) -> None:
    """Create the folder of a new server as a copy of an existing one, for you to change.

    \b
    Example:  deadheat new python-quart --like python-uvicorn
    """
    sources = choose(open_catalog(catalog), [like])
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise DeadheatError(
            f"--like {like!r} matches {len(sources)} servers", f"choose one: {names}"
        )
    folder = copy_server(sources[0], name)
    for path in sorted(folder.rglob("*")):
        echo(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    echo(f"edit these files, then run: deadheat verify {name}")
