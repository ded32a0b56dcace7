"""`deadheat serve`: all runs in a browser, and the one that is under way."""

import os
import socket
from pathlib import Path

import click
import uvicorn

from deadheat.cli.options import store_option
from deadheat.cli.stored import stored
from deadheat.errors import DeadheatError
from deadheat.serve.app import LOOPBACK, make_app

NICE = 19  # whoever measures on this machine comes first


@click.command("serve")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8008,
    show_default=True,
    help="The port to listen on.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@store_option
def command(port: int, host: str, store_path: Path) -> None:
    """Show the stored runs, and a run while it goes on, as pages on this machine.

    The store is only read. Making a page takes CPU of this machine: a page that follows a run says
    how much. Beyond loopback there is no password: whoever reaches the port reads every run.

    \b
    Example:  deadheat serve --port 8008
    """
    stored(store_path).close()  # what cannot be read is told now, not on a page
    _require_free(host, port)
    os.nice(NICE)
    names = LOOPBACK if host in LOOPBACK else ("*",)
    click.echo(f"http://{host}:{port}/   (Ctrl+C ends it)", err=True)
    uvicorn.run(make_app(store_path, names), host=host, port=port, log_level="warning")


def _require_free(host: str, port: int) -> None:
    """Raises `DeadheatError` where nothing can listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise DeadheatError(
            f"--host {host} --port {port}: {error.strerror}", "name another port or address"
        ) from error
