"""The user's own servers in a race: a command behind `--`, and URLs of running servers."""

import functools
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from deadheat.cli.help import Command
from deadheat.errors import DeadheatError
from deadheat.measure.contender import CONTROL_WORKS, Contender
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.workload import Sample

QUIET_IN = "10m"  # how long `--wait-quiet` waits without a duration


class WithCommand(Command):
    """A command that keeps the words behind `--` in `ctx.meta["own"]`: the user's command."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["own"] = []
        if "--" in args:
            at = args.index("--")
            ctx.meta["own"] = args[at + 1 :]
            args = args[:at]
        if any(param.name == "wait_quiet_s" for param in self.params):
            args = [f"{word}={QUIET_IN}" if word == "--wait-quiet" else word for word in args]
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class OwnServers:
    """The user's servers as the command line names them."""

    command: Sequence[str] = ()  # empty: none
    urls: Sequence[str] = ()
    path: str | None = None  # of the command's requests; None: /
    any_body: bool = False  # check only the status of responses
    elsewhere: bool = False  # the command is of another machine

    def __bool__(self) -> bool:
        return bool(self.command or self.urls)

    @property
    def request_path(self) -> str:
        return self.path or "/"

    def require_sense(self) -> None:
        """Raises `DeadheatError` for an option without a server that it applies to."""
        if self.path is not None and not self.path.startswith("/"):
            raise DeadheatError(
                f"--path {self.path!r}: expected a path that begins with /", "such as /api/items"
            )
        if self.path is not None and not self.command:
            raise DeadheatError(
                "--path: expected a command behind `--`", "with --url, put the path into the URL"
            )
        if self.any_body and not self:
            raise DeadheatError(
                "--any-body: expected a server of your own",
                "omit it: servers of the catalog have one right response",
            )

    def sample(self, protocol: Protocol) -> Sample | None:
        """The request that shows whether a server is ready, in the first workload; None for hello.

        Raises `DeadheatError` for options that conflict with a workload.
        """
        if not protocol.workloads:
            return None
        name = ",".join(protocol.workload_names)
        for option, given in (("--path", self.path is not None), ("--any-body", self.any_body)):
            if given:
                raise DeadheatError(
                    f"{option} and --workload {name} exclude each other",
                    "the workload has its own paths and right answers",
                )
        for url in self.urls:
            if urlsplit(url).path not in ("", "/") or urlsplit(url).query:
                raise DeadheatError(
                    f"--url {url!r}: expected no path with --workload {name}",
                    "the workload has its own paths",
                )
        first = protocol.workload_named(protocol.workload_names[0])
        return first.samples()[0] if first else None

    def contenders(self, taken: Collection[str], protocol: Protocol) -> list[Contender]:
        """The servers as contenders, with names not in `taken`.

        Raises `DeadheatError` for a server that cannot be measured.
        """
        self.require_sense()
        if self.urls and isinstance(protocol, AloneProtocol):
            raise DeadheatError(
                f"--url: the protocol {protocol.name} starts its servers itself",
                "give the start command behind `--`, or use another protocol",
            )
        sample = self.sample(protocol)
        contenders = [
            *_of_command(self.command, self.request_path, self.elsewhere),
            *(_of_url(url) for url in self.urls),
        ]
        return [
            replace(contender, body_varies=self.any_body, sample=sample)
            for contender in _with_distinct_names(contenders, taken)
        ]


def own_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for the user's own servers; the command gets them, and --url, as `own`."""

    @functools.wraps(command)
    def with_own(*args: Any, path: str | None, any_body: bool, **options: Any) -> Any:
        words = click.get_current_context().meta["own"]
        own = OwnServers(words, options.pop("urls", ()), path, any_body)
        return command(*args, own=own, **options)

    path_option = click.option(
        "--path",
        metavar="PATH",
        help="Path to request from the command behind `--`.  [default: /]",
    )
    any_body_option = click.option(
        "--any-body",
        is_flag=True,
        help="Accept any body from your own server; check only the status.",
    )
    return path_option(any_body_option(with_own))


def _of_command(command: Sequence[str], path: str, elsewhere: bool) -> Iterator[Contender]:
    if not command:
        return
    if not any("{port}" in part for part in command):
        raise DeadheatError(
            f"the command `{' '.join(command)}` has no {{port}}",
            "write {port} where the port goes: deadheat run -- ./my-server --port {port}",
        )
    if elsewhere:
        name = Path(command[0]).name
        yield Contender(name, "contender", tuple(command), any_body=True, path=path)
        return
    program = shutil.which(command[0])
    if program is None:
        raise DeadheatError(f"no program {command[0]!r}: not found on PATH", "give its full path")
    yield Contender(
        name=Path(command[0]).name,
        role="contender",
        command=(str(Path(program).absolute()), *command[1:]),  # a venv's python is a link
        cwd=str(Path.cwd()),
        any_body=True,
        path=path,
    )


def _of_url(url: str) -> Contender:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    example = "use an address such as http://127.0.0.1:8080/"
    if not valid:
        raise DeadheatError(f"--url {url!r}: expected an http address", example)
    if parts.scheme == "https":
        raise DeadheatError(f"--url {url!r}: https is not supported", example)
    name = f"{parts.netloc}{parts.path.rstrip('/')}"
    return Contender(name=name, role="contender", command=(), any_body=True, url=url)


def _with_distinct_names(
    contenders: Sequence[Contender], taken: Collection[str]
) -> Iterator[Contender]:
    """The contenders; a command whose name is taken is called `NAME:own`."""
    names = {*taken, *CONTROL_WORKS}
    for contender in contenders:
        if contender.name in names and contender.url is not None:
            raise DeadheatError(f"--url {contender.url!r} is given twice", "give it once")
        name = f"{contender.name}:own" if contender.name in names else contender.name
        names.add(name)
        yield replace(contender, name=name)
