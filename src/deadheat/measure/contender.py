"""`Contender`: what is started, loaded and ranked; from the catalog or the user."""

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deadheat.build.builder import Built
from deadheat.build.image import Image
from deadheat.catalog import Selection, fill, fill_env
from deadheat.errors import DeadheatError
from deadheat.load import Engine
from deadheat.measure.url import ServerUrl
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.stats.warm_rule import Compiler
from deadheat.workload import Level, SampleRequest

NULL_SERVER = "null-server"
REFERENCE = "reference"
CONTROL_WORKS = {NULL_SERVER: 0, REFERENCE: 5000}  # units of work for each request
LOOPBACK = "127.0.0.1"
JIT_LANGUAGES = ("Bun", "Deno", "Node.js")
TIERED_LANGUAGES = ("Java", "Kotlin", "Scala")


@dataclass(frozen=True, slots=True)
class Contender:
    """What a campaign starts and loads. Its command keeps the placeholders {host} and {port}."""

    name: str
    role: str  # contender, control
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    workers: int = 1
    threads: int = 1
    ready_s: float = 30
    stop_signal: str = "SIGTERM"
    stop_s: float = 10
    media_type: str = "text/plain"
    compiler: Compiler = Compiler.JIT  # what warm-up assumes until it sees compiler threads
    any_body: bool = False  # of the user: its first answer is the expected one
    body_varies: bool = False  # answers differ: only the status is checked
    path: str = "/"  # of each request
    sample: SampleRequest | None = None  # of the user, in a workload: asked until it is ready
    workloads: frozenset[str] | None = None  # that it answers; None: each
    left_out: frozenset[str] = frozenset()  # workloads that it answered wrong, when verified
    image: Image | None = None  # what it runs in; None: it runs natively
    url: str | None = None  # of a running server, which we do not start, freeze or stop

    def answers(self, workload: str) -> bool:
        named = self.workloads is None or workload in self.workloads
        return named and workload not in self.left_out

    def levels_of(self, protocol: Protocol) -> tuple[Level, ...]:
        """The levels of a protocol at which it is measured."""
        return tuple(level for level in protocol.levels if self.answers(level.workload))

    def command_at(self, port: int, host: str = LOOPBACK) -> tuple[str, ...]:
        values = {"port": str(port), "host": host}
        command = fill(self.command, values)
        if self.image is None:
            return command
        return self.image.command(port, command, fill_env(self.env, values))

    def env_at(self, port: int, host: str = LOOPBACK) -> dict[str, str]:
        """The environment of the command; that of a container is in its command."""
        if self.image is not None:
            return {}
        return fill_env(self.env, {"port": str(port), "host": host})


def contender_from(selection: Selection, built: Built) -> Contender:
    """The contender of a selection from the catalog and its build."""
    start = selection.start
    values = {
        "build": built.folder,
        "workers": str(start.workers),
        "threads": str(start.threads),
    }
    return Contender(
        name=selection.name,
        role="contender",
        command=fill(start.command, values),
        env=fill_env(start.env, values),
        cwd=None if built.image else str(built.path),
        image=built.image,
        workers=start.workers,
        threads=start.threads,
        ready_s=start.ready_s,
        stop_signal=start.stop_signal,
        stop_s=start.stop_s,
        media_type=selection.server.manifest.media_type,
        compiler=_compiler(selection),
        workloads=frozenset(selection.server.manifest.workloads),
    )


def _compiler(selection: Selection) -> Compiler:
    """What the manifest says of the runtime."""
    manifest = selection.server.manifest
    if manifest.slow_start or manifest.language in TIERED_LANGUAGES:
        return Compiler.TIERED
    return Compiler.JIT if manifest.language in JIT_LANGUAGES else Compiler.NONE


def controls(engine: Engine) -> list[Contender]:
    """The two controls, which run in every block.

    The null server does the least that a server can, so its rate is the client's ceiling, and its
    changes are those of the machine. The reference does a fixed amount of work for each request.
    """
    return [
        Contender(
            name=name,
            role="control",
            compiler=Compiler.NONE,
            command=tuple(engine.null_server("{port}", work, "{host}")),
            ready_s=5,
            stop_s=3,
        )
        for name, work in CONTROL_WORKS.items()
    ]


def controls_for(protocol: Protocol, engine: Engine) -> list[Contender]:
    """The controls of a protocol: both in a race, or the null server as the ceiling if alone."""
    if not protocol.controls:
        return []
    both = controls(engine)
    if isinstance(protocol, AloneProtocol):
        return [control for control in both if control.name == NULL_SERVER]
    return both


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
        if self.path is not None:
            try:
                ServerUrl.parse(f"http://localhost{self.path}")
            except ValueError as error:
                raise DeadheatError(f"--path {self.path!r}: {error}", "percent-encode it") from None
        if self.path is not None and not self.command:
            raise DeadheatError(
                "--path: expected a command behind `--`", "with --url, put the path into the URL"
            )
        if self.any_body and not self:
            raise DeadheatError(
                "--any-body: expected a server of your own",
                "omit it: servers of the catalog have one right response",
            )

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


KEPT = ("command", "cwd", "path", "url", "any_body", "body_varies")  # what the store needs of one


def kept_of(contender: Contender) -> dict[str, Any]:
    """What the store keeps of a contender that the catalog does not have, as JSON."""
    return {**{name: getattr(contender, name) for name in KEPT}, "command": [*contender.command]}


def own_contender(name: str, kept: Mapping[str, Any], protocol: Protocol) -> Contender:
    """The user's server as `kept_of` stored it. Raises `DeadheatError` if its folder is gone."""
    contender = Contender(
        name=name, role="contender", **{**kept, "command": tuple(kept["command"])}
    )
    if contender.cwd is not None and not Path(contender.cwd).is_dir():
        raise DeadheatError(f"{name} was started in {contender.cwd}, which is gone")
    first = protocol.workload_named(protocol.workload_names[0]) if protocol.workloads else None
    return replace(contender, sample=first.samples()[0] if first else None)


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


def _of_url(text: str) -> Contender:
    url = parsed_url(text)
    return Contender(name=url.name, role="contender", command=(), any_body=True, url=text)


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
    """The contenders; a command whose name is taken is called `NAME:own`."""
    names = {*taken, *CONTROL_WORKS}
    for contender in contenders:
        if contender.name in names and contender.url is not None:
            raise DeadheatError(f"--url {contender.url!r} is given twice", "give it once")
        name = f"{contender.name}:own" if contender.name in names else contender.name
        names.add(name)
        yield replace(contender, name=name)
