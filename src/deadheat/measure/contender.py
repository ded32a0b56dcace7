"""`Contender`: what is started, loaded and ranked; from the catalog or the user. And `Instance`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deadheat.build.builder import Built
from deadheat.build.image import Image
from deadheat.catalog import Selection, fill, fill_env
from deadheat.catalog.manifest import HTTP, HTTP2, OVER_TLS, Transport
from deadheat.host import RunningServer, TlsAddress
from deadheat.load import Engine
from deadheat.measure.certificates import PLACEHOLDERS, wants_certificate
from deadheat.measure.url import ServerUrl
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.stats.warmup.warm_rule import Compiler
from deadheat.workload import Level, SampleRequest, over, parts_of

NULL_SERVER = "null-server"
REFERENCE = "reference"
CONTROL_WORKS = {NULL_SERVER: 0, REFERENCE: 5000}  # units of work for each request
LOOPBACK = "127.0.0.1"
JIT_LANGUAGES = ("Bun", "Deno", "Node.js")
TLS_OPTIONS = ("--cert", PLACEHOLDERS[0], "--key", PLACEHOLDERS[1])
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
    language: str | None = None  # of its manifest; None: of the user
    compiler: Compiler = Compiler.JIT  # what warm-up assumes until it sees compiler threads
    any_body: bool = False  # of the user: its first answer is the expected one
    body_varies: bool = False  # answers differ: only the status is checked
    path: str = "/"  # of each request
    sample: SampleRequest | None = None  # of the user, in a workload: asked until it is ready
    workloads: frozenset[str] | None = None  # that it answers, without transports; None: each
    left_out: frozenset[str] = frozenset()  # levels' workloads that it answered wrong, if verified
    transport: Transport = HTTP
    image: Image | None = None  # what it runs in; None: it runs natively
    url: str | None = None  # of a running server, which we do not start, freeze or stop
    trust: tuple[str, ...] = ()  # the options of the engine that say which certificate to trust

    def answers(self, workload: str) -> bool:
        """Whether it answers the workload of a level, such as `hello` or `hello:https`."""
        name, transport = parts_of(workload)
        named = self.workloads is None or name in self.workloads
        return named and transport == self.transport and workload not in self.left_out

    def levels_of(self, protocol: Protocol) -> tuple[Level, ...]:
        """The levels of a protocol at which it is measured."""
        return tuple(level for level in protocol.levels if self.answers(level.workload))

    @property
    def speaks_tls(self) -> bool:
        return self.transport in OVER_TLS

    @property
    def speaks_http2(self) -> bool:
        return self.transport in HTTP2

    def can_speak(self, transport: Transport) -> bool:
        """Whether the user's own server may speak it: with TLS or without, as it is given."""
        if self.url is not None:
            has_tls = ServerUrl.parse(self.url).is_https
        else:
            has_tls = wants_certificate((*self.command, *self.env.values()))
        return has_tls == (transport in OVER_TLS)

    def over(self, transport: Transport) -> "Contender":
        """The same on a transport, with its name."""
        return replace(self, name=over(self.name, transport), transport=transport)

    @property
    def is_null_server(self) -> bool:
        return self.role == "control" and parts_of(self.name)[0] == NULL_SERVER

    def command_at(
        self, port: int, host: str = LOOPBACK, files: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Its command; `files` has the paths of {cert} and {key}, which stay without it."""
        values = {"port": str(port), "host": host, **(files or {})}
        command = fill(self.command, values)
        if self.image is None:
            return command
        folders = {str(Path(path).parent) for path in (files or {}).values()}
        return self.image.command(port, command, fill_env(self.env, values), sorted(folders))

    def env_at(
        self, port: int, host: str = LOOPBACK, files: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """The environment of the command; that of a container is in its command."""
        if self.image is not None:
            return {}
        return fill_env(self.env, {"port": str(port), "host": host, **(files or {})})


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance that has answered, running or frozen. Without a process it is the user's own.

    `listens_itself` is None if this machine does not show who listens on its port. `running` is
    the user's own server, if the server host shows its processes; `unseen` says why not, if it
    runs there all the same.
    """

    contender: Contender
    process: str
    port: int
    log_path: str
    ready_s: float
    listens_itself: bool | None = None
    host: str = LOOPBACK
    trust: tuple[str, ...] = ()  # as the engine's options
    running: RunningServer | None = None
    unseen: str | None = None

    @property
    def read_process(self) -> str:
        """The process tree whose CPU time and memory are read; empty if there is none here."""
        return self.running.process if self.running is not None else self.process

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "https" if self.contender.speaks_tls else "http"
        return self.contender.url or f"{scheme}://{host}:{self.port}{self.contender.path}"

    @property
    def address(self) -> tuple[str, int]:
        address = (ServerUrl.parse(self.url).host, self.port)
        return TlsAddress(address) if self.contender.speaks_tls else address

    @property
    def path(self) -> str:
        return ServerUrl.parse(self.url).target


def contender_from(selection: Selection, built: Built) -> Contender:
    """The contender of a selection from the catalog and its build."""
    start = selection.start
    values = {"build": built.folder, "workers": str(start.workers), "threads": str(start.threads)}
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
        language=selection.server.manifest.language,
        compiler=compiler_of(selection),
        workloads=frozenset(selection.server.manifest.answered),
        transport=selection.transport,
    )


def compiler_of(selection: Selection) -> Compiler:
    """What the manifest says of the runtime."""
    manifest = selection.server.manifest
    if manifest.slow_start or manifest.language in TIERED_LANGUAGES:
        return Compiler.TIERED
    return Compiler.JIT if manifest.language in JIT_LANGUAGES else Compiler.NONE


def controls(engine: Engine, transports: Sequence[Transport] = (HTTP,)) -> list[Contender]:
    """Two controls of each transport, which run in every block.

    The null server does the least that a server can, so its rate is the client's ceiling, and its
    changes are those of the machine. The reference does a fixed amount of work for each request.
    """
    return [
        Contender(
            name=name,
            role="control",
            compiler=Compiler.NONE,
            command=(
                *engine.null_server("{port}", work, "{host}"),
                *(TLS_OPTIONS if transport in OVER_TLS else ()),
            ),
            ready_s=5,
            stop_s=3,
        ).over(transport)
        for transport in transports
        for name, work in CONTROL_WORKS.items()
    ]


def controls_for(protocol: Protocol, engine: Engine) -> list[Contender]:
    """The controls of a protocol: both in a race, or the null server as the ceiling if alone."""
    if not protocol.controls:
        return []
    both = controls(engine, protocol.transports)
    if isinstance(protocol, AloneProtocol):
        return [control for control in both if control.is_null_server]
    return both
