"""Flags of the commands that measure servers of the user's own."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from deadheat.cli.help import Topic, flag
from deadheat.cli.options import FILE
from deadheat.cli.race_options import Options, grouped
from deadheat.errors import DeadheatError, UsageFault
from deadheat.foreign_text import MASK, lacks_a_secret, read_bytes, without_secrets
from deadheat.measure.own_servers import OwnRequest, OwnServers

BODY_BYTES_MAX = 16 << 20
HEADERS_BYTES_MAX = 1 << 16


def _own(options: Options) -> OwnServers:
    behind = click.get_current_context().meta["own"]
    commands = [*map(_words_of, options.pop("commands", ())), *([behind] if behind else [])]
    body: Path | None = options.pop("body")
    headers: tuple[str, ...] = options.pop("headers")
    _require_secrets(headers, commands)
    request = OwnRequest(
        headers=[each for header in headers for each in _headers_of(header)],
        method=options.pop("method"),
        body=None if body is None else _text_of("--body", body, BODY_BYTES_MAX),
        status=options.pop("expect_status"),
    )
    return OwnServers(
        commands=commands,
        urls=options.pop("urls", ()),
        names=options.pop("names", ()),
        path=options.pop("path"),
        any_body=options.pop("any_body"),
        request=request,
        elsewhere=options.get("server_host") is not None,
        cacert=options.pop("cacert", None),
        insecure=options.pop("insecure", False),
    )


def _words_of(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        shown = without_secrets([command])[0][0]
        raise DeadheatError(f"--command {shown!r}: {error}", "quote it as in a shell") from error
    if not words:
        raise DeadheatError("--command: it is empty", "expected one such as './server {port}'")
    return words


def _require_secrets(headers: Sequence[str], commands: Sequence[Sequence[str]]) -> None:
    """Raises `UsageFault` for a command that an output shows without its passwords."""
    for header in headers:
        if lacks_a_secret([header]):
            raise UsageFault(
                f"--header {header!r}: {MASK} stands for a password, which no output shows",
                f"type it in place of {MASK}, or keep the header in a file: -H @FILE",
            )
    for command in commands:
        if lacks_a_secret(command):
            shown = shlex.join(without_secrets(command)[0])
            raise UsageFault(
                f"the command {shown}: {MASK} stands for a password, which no output shows",
                f"type it in place of {MASK}; to go on with a stored run: deadheat resume",
            )


def _headers_of(header: str) -> list[str]:
    """The header itself, or those of a file for `@FILE`: one a line, as curl has it."""
    if not header.startswith("@"):
        return [header]
    lines = _text_of("--header", Path(header[1:]), HEADERS_BYTES_MAX).splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip() and ":" not in line:  # it may be a password: it is not printed
            raise DeadheatError(f"{header[1:]}:{number}: expected NAME: VALUE", "as for curl")
    return [line.strip() for line in lines if line.strip()]


def _text_of(option: str, path: Path, bytes_max: int) -> str:
    try:
        return read_bytes(path, bytes_max).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "expected UTF-8"
        raise DeadheatError(f"{option} {path}: {reason}", "check the path") from error


_REQUEST_FLAGS = (
    flag(
        "--path",
        section=Topic.SERVERS,
        metavar="PATH",
        help="Path to request from the command behind `--`.  [default: /]",
    ),
    flag(
        "--any-body",
        section=Topic.SERVERS,
        is_flag=True,
        help="Accept any body from your own server; check only the status.",
    ),
    flag(
        "-H",
        "--header",
        "headers",
        section=Topic.LOAD,
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Header of each request to your own servers, or @FILE with one a line; repeat it "
        "for several.",
    ),
    flag(
        "--method",
        section=Topic.LOAD,
        metavar="NAME",
        help="Method of each request to your own servers.  [default: GET, or POST with --body]",
    ),
    flag(
        "--body",
        section=Topic.LOAD,
        type=FILE,
        help="File with the body of each request to your own servers.",
    ),
    flag(
        "--expect-status",
        section=Topic.LOAD,
        type=click.IntRange(200, 599),
        metavar="STATUS",
        help="Status of the right answer of your own servers.  [default: 200]",
    ),
)
# Both are of a `WithCommand`. The first is for one start command, behind `--`.
own_options = grouped("own", _own, *_REQUEST_FLAGS)
own_servers_options = grouped(
    "own",
    _own,
    flag(
        "--url",
        "urls",
        section=Topic.SERVERS,
        multiple=True,
        metavar="URL",
        help="URL of a server that runs already, to race it too; repeat it for several.",
    ),
    flag(
        "--command",
        "commands",
        section=Topic.SERVERS,
        multiple=True,
        metavar="TEXT",
        help="Command that starts a server of your own, quoted as one word; repeat it for several.",
    ),
    flag(
        "--name",
        "names",
        section=Topic.SERVERS,
        multiple=True,
        metavar="NAME",
        help="Name of a server of your own: a name each, in their order, those of URLs last.",
    ),
    flag(
        "--cacert",
        section=Topic.SERVERS,
        type=FILE,
        help="File with the CA of --url https://...  [default: those of the system]",
    ),
    flag(
        "--insecure",
        section=Topic.SERVERS,
        is_flag=True,
        help="Trust any certificate of --url https://...",
    ),
    *_REQUEST_FLAGS,
)
