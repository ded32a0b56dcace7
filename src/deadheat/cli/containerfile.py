"""`deadheat containerfile`: a server's manifest as a Containerfile."""

import click

from deadheat.build.image import BASE_IMAGE, containerfile
from deadheat.catalog import selection
from deadheat.cli.choice import chosen_servers, open_catalog
from deadheat.cli.help import listed
from deadheat.cli.options import base_image_option, catalog_option, complete_servers, setting_option
from deadheat.errors import UsageFault
from deadheat.output import echo


@listed("containerfile")
@click.argument("server", shell_complete=complete_servers)
@setting_option
@base_image_option
@catalog_option
def command(server: str, setting: str, base_image: str | None, catalog: str | None) -> None:
    """It has the install lines, the build steps and the start command from the server's manifest
    and recipe. Build it in the server's folder, which has the lock file. In the container, the
    server listens on port 8080.

    \b
    Example:
      deadheat containerfile go-gin > Containerfile
      podman build -t go-gin -f Containerfile servers/go-gin
    """
    chosen = chosen_servers(open_catalog(catalog), (server,))
    if len(chosen) != 1:
        names = ", ".join(each.name for each in chosen)
        raise UsageFault(f"{server}: expected one server, got {names}", "name one of them")
    text = containerfile(selection(chosen[0], setting), base_image or BASE_IMAGE)
    echo(text, newline=False)
