"""`deadheat serve`: shows all runs in a browser, also one in progress."""

import logging
import os
import secrets
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import integer, store_option
from deadheat.cli.stored import stored
from deadheat.errors import DeadheatError
from deadheat.output import echo
from deadheat.serve.access import Address
from deadheat.serve.app import make_app

EXPOSED = "other machines can connect: who has this URL, or sees the traffic, can read every run"
NICE = 19  # a measurement on this machine has precedence


@listed("serve")
@flag(
    "--port",
    section=Topic.OTHER,
    type=integer(1, 65535),
    default=8008,
    show_default=True,
    help="Port to listen on.",
)
@flag(
    "--host",
    section=Topic.OTHER,
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on.",
)
@store_option
def command(port: int, host: str, store_path: Path) -> None:
    """The web server only reads the store. It uses CPU time of this machine; the page of a run in
    progress shows how much. With a --host other than loopback, a browser needs the token in the
    address that this command prints, and the traffic is not encrypted.

    \b
    Examples:
      deadheat serve
      deadheat serve --port 9000
    """
    stored(store_path).close()  # report an unreadable store now, not on a page
    address = Address.of(host, port)
    _require_free(address)
    os.nice(NICE)
    token = None if address.is_loopback else secrets.token_urlsafe()
    if token is not None:
        echo(f"warning: {EXPOSED}", fg="yellow", err=True)
    query = f"?token={token}" if token else ""
    echo(f"{address.url}{query}   (Ctrl+C stops the server)", err=True)
    app = make_app(store_path, address.names, token)
    said = logging.StreamHandler()
    said.setFormatter(_FirstLine())
    logging.getLogger("asyncio").addHandler(said)
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", http=Http)
    server = uvicorn.Server(config)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, server.handle_exit)  # an exception would be lost in the loop
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(ExitCode.FAILED)


class Http(H11Protocol):
    """HTTP/1.1, also with a client that breaks it after the application got its request.

    uvicorn then sends a 400, although the application answers, or has begun to: h11 refuses the
    second answer, and each such client was a traceback.
    """

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None:
            self.cycle.disconnected = True  # what the application still sends goes nowhere
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()


class _FirstLine(logging.Formatter):
    """What the event loop reports, such as no descriptor left, without its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return f"serve: {record.getMessage().partition(chr(10))[0]}"


def _require_free(address: Address) -> None:
    """Raises `DeadheatError` if one of the addresses cannot be listened on."""
    for ip in address.ips:
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        try:
            socket.create_server((ip, address.port), family=family).close()
        except OSError as error:
            raise DeadheatError(
                f"--host {address.host} --port {address.port}: {error.strerror}",
                "choose another port or address",
            ) from error
