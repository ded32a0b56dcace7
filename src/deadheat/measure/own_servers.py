"""`OwnServers`: the user's own servers, as the command line names them and the store keeps them."""

import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from deadheat.catalog.manifest import HTTP, Transport
from deadheat.errors import DeadheatError, UsageFault
from deadheat.foreign_text import without_secrets
from deadheat.measure.certificates import wants_certificate
from deadheat.measure.contender import CONTROL_WORKS, Contender
from deadheat.measure.url import ServerUrl
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol, SliceProtocol, amend
from deadheat.stats.warmup.warm_rule import Compiler
from deadheat.strict import JsonObject
from deadheat.workload import SampleRequest

# Programs without a compiler at run time; of another one, warm-up has to assume one.
INTERPRETED = re.compile(r"(python|perl|gunicorn|uvicorn|hypercorn|daphne|waitress-serve)[\d.]*")

P = TypeVar("P", bound=SliceProtocol | AloneProtocol | SearchProtocol)


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """What is asked of the user's own servers, as with curl. None: not given."""

    headers: Sequence[str] = ()  # each as `Name: value`
    method: str | None = None
    body: str | None = None
    status: int | None = None

    @property
    def options(self) -> list[str]:
        """Those that gave it."""
        values = {
            "--header": self.headers or None,
            "--method": self.method,
            "--body": self.body,
            "--expect-status": self.status,
        }
        return [option for option, value in values.items() if value is not None]

    def __bool__(self) -> bool:
        return bool(self.options)

    def workload(self, path: str) -> JsonObject:
        """The workload with this one request, as a value of a protocol. Raises `DeadheatError`."""
        headers = {}
        for header in self.headers:
            name, colon, value = header.partition(":")
            if not colon or not name.strip():
                raise DeadheatError(f"--header {header!r}: expected NAME: VALUE", "as for curl")
            headers[name.strip()] = value.strip()
        request = {"method": self.method, "path": path, "headers": headers, "body": self.body}
        given = {key: value for key, value in request.items() if value}
        expect = {"status": self.status} if self.status is not None else {}
        about = "the request of the command line"
        return {"name": "request", "about": about, "requests": [{**given, "expect": expect}]}


@dataclass(frozen=True, slots=True)
class OwnServers:
    """The user's servers as the command line names them."""

    commands: Sequence[Sequence[str]] = ()
    urls: Sequence[str] = ()
    names: Sequence[str] = ()  # of the commands, then of the URLs
    path: str | None = None  # of the commands' requests; None: /
    any_body: bool = False  # check only the status of responses
    request: OwnRequest = OwnRequest()
    elsewhere: bool = False  # the commands are of another machine
    cacert: Path | None = None  # what the URLs' certificates are signed by; None: the system's
    insecure: bool = False  # the URLs may have any certificate

    def __bool__(self) -> bool:
        return bool(self.commands or self.urls)

    @property
    def request_path(self) -> str:
        return self.path or "/"

    def require_sense(self) -> None:
        """Raises `DeadheatError` for an option without a server that it applies to."""
        if self.path is not None and not self.path.startswith("/"):
            raise DeadheatError(
                f"--path {self.path!r}: expected a path that begins with /", "such as /api/items"
            )
        if self.path is not None:
            try:
                ServerUrl.parse(f"http://localhost{self.path}")
            except ValueError as error:
                raise DeadheatError(f"--path {self.path!r}: {error}", "percent-encode it") from None
        if self.path is not None and not self.commands:
            raise DeadheatError(
                "--path: expected a command behind `--`", "with --url, put the path into the URL"
            )
        options = [*(["--any-body"] if self.any_body else []), *self.request.options]
        if options and not self:
            raise DeadheatError(
                f"{options[0]}: expected a server of your own",
                "omit it: servers of the catalog have one right response",
            )
        if len(self.names) > len(self.commands) + len(self.urls):
            raise DeadheatError(
                f"--name {self.names[-1]!r}: there are fewer servers of your own than names",
                "a name each, those of commands first",
            )
        trusting = "--insecure" if self.insecure else "--cacert" if self.cacert else None
        if trusting and not any(parsed_url(url).is_https for url in self.urls):
            raise DeadheatError(f"{trusting}: expected --url https://...", "omit it")
        if self.insecure and self.cacert is not None:
            raise DeadheatError("--insecure and --cacert exclude each other", "omit --insecure")

    @property
    def trust(self) -> tuple[str, ...]:
        """The options of the engine."""
        if self.cacert is not None:
            return ("--cacert", str(self.cacert.absolute()))
        return ("--insecure",) if self.insecure else ()

    def with_workload(self, protocol: P, alone: bool = True) -> tuple["OwnServers", P]:
        """The protocol with the transports of these servers, and with the request of the command
        line, if it gives one.

        `alone`: no server of the catalog takes part. Raises `DeadheatError` for a request that is
        not possible.
        """
        self.require_sense()
        protocol = self._with_transports(protocol, alone)
        if not self.request:
            return self, protocol
        option = self.request.options[0]
        if protocol.workloads:
            raise DeadheatError(
                f"{option} and --workload {','.join(protocol.workload_names)} exclude each other",
                "omit one of them: a workload has its own requests and right answers",
            )
        paths = {self.request_path} if self.commands else set()
        paths |= {parsed_url(url).target for url in self.urls}
        if len(paths) > 1:
            raise DeadheatError(
                f"{option}: one request for several paths: {', '.join(sorted(paths))}",
                "give all servers the same path, or write a workload file: --workload FILE",
            )
        (path,) = paths
        workload = self.request.workload(path)
        bases = [parsed_url(url).base for url in self.urls]
        own = replace(self, urls=bases, path=None, any_body=False, request=OwnRequest())
        amended: Any = amend(cast(Any, protocol), {"workloads": (workload,)}, {})
        return own, cast(P, amended)

    def sample(self, protocol: Protocol) -> SampleRequest | None:
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
            if parsed_url(url).target != "/":
                raise DeadheatError(
                    f"--url {url!r}: expected no path with --workload {name}",
                    "the workload has its own paths",
                )
        return first_sample(protocol)

    def _with_transports(self, protocol: P, alone: bool) -> P:
        """With the transports of these servers, where none is asked for."""
        if protocol.transports != (HTTP,):
            return protocol
        secured = [wants_certificate(tuple(words)) for words in self.commands]
        secured += [parsed_url(url).is_https for url in self.urls]
        if not any(secured):
            return protocol
        both: tuple[Transport, ...] = ("https",) if all(secured) and alone else (HTTP, "https")
        return cast(P, amend(cast(Any, protocol), {"transports": both}, {}))

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
        sample, trust = self.sample(protocol), self.trust
        contenders = [
            *(_of_command(words, self.request_path, self.elsewhere) for words in self.commands),
            *(_of_url(url, trust) for url in self.urls),
        ]
        named = [
            replace(each, name=self.names[place]) if place < len(self.names) else each
            for place, each in enumerate(contenders)
        ]
        return [
            replace(contender, body_varies=self.any_body, sample=sample).over(transport)
            for contender in _with_distinct_names(named, taken)
            for transport in _spoken(contender, protocol.transports)
        ]


KEPT = (
    "command",
    "compiler",
    "cwd",
    "path",
    "url",
    "any_body",
    "body_varies",
    "trust",
    "transport",
)  # what the store needs of one


def kept_of(contender: Contender) -> JsonObject:
    """What the store keeps of a contender that the catalog does not have, as JSON."""
    return {**{name: getattr(contender, name) for name in KEPT}, "command": [*contender.command]}


def own_contender(name: str, kept: Mapping[str, Any], protocol: Protocol) -> Contender:
    """The user's server as `kept_of` stored it. Raises `DeadheatError` if its folder is gone."""
    values = {**kept, "command": tuple(kept["command"]), "compiler": Compiler(kept["compiler"])}
    values["trust"] = tuple(kept.get("trust", ()))
    contender = Contender(name=name, role="contender", **values)
    if contender.cwd is not None and not Path(contender.cwd).is_dir():
        raise DeadheatError(f"{name} was started in {contender.cwd}, which is gone")
    return replace(contender, sample=first_sample(protocol))


def first_sample(protocol: Protocol) -> SampleRequest | None:
    """The first request of its first workload; None for hello."""
    first = protocol.workload_named(protocol.workload_names[0]) if protocol.workloads else None
    return first.samples()[0] if first else None


def _spoken(contender: Contender, transports: Sequence[Transport]) -> list[Transport]:
    """Those of the transports that it may speak. Raises `DeadheatError` if there is none."""
    if spoken := [each for each in transports if contender.can_speak(each)]:
        return spoken
    asked = ",".join(transports)
    if contender.url is not None:
        raise DeadheatError(
            f"--transport {asked}: {contender.url} has another one",
            "https:// URLs speak https and h2, http:// URLs http and h2c",
        )
    shown = shlex.join(without_secrets(contender.command)[0])
    raise DeadheatError(
        f"--transport {asked}: `{shown}` has another one",
        "with {cert} and {key} in its command it speaks https and h2, without them http and h2c",
    )


def _of_command(command: Sequence[str], path: str, elsewhere: bool) -> Contender:
    if not any("{port}" in part for part in command):
        raise UsageFault(
            f"the command `{shlex.join(without_secrets(command)[0])}` has no {{port}}",
            "write {port} where the port goes: deadheat run -- ./my-server --port {port}",
        )
    name = Path(command[0]).name
    if elsewhere:
        return Contender(name, "contender", tuple(command), any_body=True, path=path)
    program = shutil.which(command[0])
    if program is None and "/" in command[0]:
        fault = "it cannot be executed" if Path(command[0]).exists() else f"not in {Path.cwd()}"
        hint = "make it executable: chmod +x" if Path(command[0]).exists() else "check the path"
        raise UsageFault(f"no program {command[0]!r}: {fault}", hint)
    if program is None:
        raise UsageFault(f"no program {command[0]!r}: not found on PATH", "give its full path")
    return Contender(
        name=name,
        role="contender",
        command=(str(Path(program).absolute()), *command[1:]),  # a venv's python is a link
        cwd=str(Path.cwd()),
        compiler=Compiler.NONE if INTERPRETED.fullmatch(name) else Compiler.JIT,
        any_body=True,
        path=path,
    )


def _of_url(text: str, trust: tuple[str, ...]) -> Contender:
    url = parsed_url(text)
    return Contender(
        name=url.name,
        role="contender",
        command=(),
        any_body=True,
        url=text,
        trust=trust if url.is_https else (),
    )


def parsed_url(text: str) -> ServerUrl:
    """Raises `DeadheatError` that shows no password."""
    try:
        return ServerUrl.parse(text)
    except ValueError as error:
        shown = "" if "@" in text else f" {text!r}"
        raise DeadheatError(
            f"--url{shown}: {error}", "use an address such as http://127.0.0.1:8080/"
        ) from None


def _with_distinct_names(
    contenders: Sequence[Contender], taken: Collection[str]
) -> Iterator[Contender]:
    """The contenders; a command whose name is taken is called `NAME:own`, then `NAME:own-2`."""
    names = {*taken, *CONTROL_WORKS}
    for contender in contenders:
        if contender.name in names and contender.url is not None:
            if contender.name != parsed_url(contender.url).name:
                raise DeadheatError(
                    f"--name {contender.name!r}: another server has this name", "choose another"
                )
            raise DeadheatError(f"--url {contender.url!r} is given twice", "give it once")
        name, number = contender.name, 1
        while name in names:
            name = f"{contender.name}:own" + (f"-{number}" if number > 1 else "")
            number += 1
        names.add(name)
        yield replace(contender, name=name)
