"""`deadheat serve`: shows all runs in a browser, also one in progress."""

import os
import socket
from pathlib import Path

import click
import uvicorn

from deadheat.cli.options import store_option
from deadheat.cli.stored import stored
from deadheat.errors import DeadheatError
from deadheat.output import echo
from deadheat.serve.app import LOOPBACK, make_app

NICE = 19  # a measurement on this machine has precedence


@click.command("serve")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8008,
    show_default=True,
    help="Port to listen on.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@store_option
def command(port: int, host: str, store_path: Path) -> None:
    """Show the stored runs as web pages, also a run in progress.

    The server only reads the store. It uses CPU time of this machine; the page of a run in
    progress shows how much. There is no password: with an address other than loopback, everyone
    who can reach the port can read every run.

    \b
    Example:  deadheat serve --port 8008
    """
    stored(store_path).close()  # report an unreadable store now, not on a page
    _require_free(host, port)
    os.nice(NICE)
    names = LOOPBACK if host in LOOPBACK else ("*",)
    echo(f"http://{host}:{port}/   (Ctrl+C stops the server)", err=True)
    uvicorn.run(make_app(store_path, names), host=host, port=port, log_level="warning")


def _require_free(host: str, port: int) -> None:
    """Raises `DeadheatError` if the address cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise DeadheatError(
            f"--host {host} --port {port}: {error.strerror}", "choose another port or address"
        ) from error
