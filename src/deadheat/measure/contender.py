"""`Contender`: what is started, loaded and ranked; from the catalog or the user."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.build.builder import Built
from deadheat.build.image import Image
from deadheat.catalog import Selection, fill, fill_env
from deadheat.load import Engine
from deadheat.measure.certificates import PLACEHOLDERS, wants_certificate
from deadheat.measure.url import ServerUrl
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.stats.warmup.warm_rule import Compiler
from deadheat.workload import Level, SampleRequest

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
    compiler: Compiler = Compiler.JIT  # what warm-up assumes until it sees compiler threads
    any_body: bool = False  # of the user: its first answer is the expected one
    body_varies: bool = False  # answers differ: only the status is checked
    path: str = "/"  # of each request
    sample: SampleRequest | None = None  # of the user, in a workload: asked until it is ready
    workloads: frozenset[str] | None = None  # that it answers; None: each
    left_out: frozenset[str] = frozenset()  # workloads that it answered wrong, when verified
    image: Image | None = None  # what it runs in; None: it runs natively
    url: str | None = None  # of a running server, which we do not start, freeze or stop
    trust: tuple[str, ...] = ()  # the options of the engine that say which certificate to trust

    def answers(self, workload: str) -> bool:
        named = self.workloads is None or workload in self.workloads
        return named and workload not in self.left_out

    def levels_of(self, protocol: Protocol) -> tuple[Level, ...]:
        """The levels of a protocol at which it is measured."""
        return tuple(level for level in protocol.levels if self.answers(level.workload))

    @property
    def speaks_tls(self) -> bool:
        if self.url is not None:
            return ServerUrl.parse(self.url).is_https
        return wants_certificate(self.command)

    def command_at(
        self, port: int, host: str = LOOPBACK, files: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Its command; `files` has the paths of {cert} and {key}, which stay without it."""
        values = {"port": str(port), "host": host, **(files or {})}
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


def controls(engine: Engine, tls: bool = False) -> list[Contender]:
    """The two controls, which run in every block, over TLS or not, as what they are beside.

    The null server does the least that a server can, so its rate is the client's ceiling, and its
    changes are those of the machine. The reference does a fixed amount of work for each request.
    """
    return [
        Contender(
            name=name,
            role="control",
            compiler=Compiler.NONE,
            command=(*engine.null_server("{port}", work, "{host}"), *(TLS_OPTIONS if tls else ())),
            ready_s=5,
            stop_s=3,
        )
        for name, work in CONTROL_WORKS.items()
    ]


def controls_for(protocol: Protocol, engine: Engine, tls: bool = False) -> list[Contender]:
    """The controls of a protocol: both in a race, or the null server as the ceiling if alone."""
    if not protocol.controls:
        return []
    both = controls(engine, tls)
    if isinstance(protocol, AloneProtocol):
        return [control for control in both if control.name == NULL_SERVER]
    return both
