"""`deadheat new`: a folder for a new server, made from one that works."""

from pathlib import Path

import click

from deadheat.catalog import choose
from deadheat.catalog.new import copy_server
from deadheat.cli.options import catalog_option
from deadheat.cli.workbench import open_catalog
from deadheat.errors import DeadheatError


@click.command("new")
@click.argument("name")
@click.option("--like", required=True, metavar="SERVER", help="The server to start from.")
@catalog_option
def command(name: str, like: str, catalog: str | None) -> None:
    """Make the folder of a new server as a copy of one that works, ready to be changed.

    \b
    Example:  deadheat new python-quart --like python-uvicorn
    """
    found = open_catalog(catalog)
    sources = choose(found, [like])
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise DeadheatError(f"--like {like!r} means {names}", "name one of them")
    folder = copy_server(sources[0], name)
    for path in sorted(folder.rglob("*")):
        click.echo(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    click.echo(f"change what is not yours, then:  deadheat verify {name}")
