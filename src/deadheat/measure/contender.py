"""`Racer`: a contender made ready to start, wherever it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.build.builder import Built
from deadheat.catalog import Selection, fill, fill_env
from deadheat.load import Engine
from deadheat.protocol import Protocol

NULL_SERVER = "null-server"
REFERENCE = "reference"
CONTROL_WORKS = {NULL_SERVER: 0, REFERENCE: 5000}  # units of work a request
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Contender:
    """What a campaign starts and loads. `{port}` is all that its command still leaves open."""

    name: str
    role: str  # rival, canary
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    workers: int = 1
    threads: int = 1
    ready_s: float = 30
    stop_signal: str = "SIGTERM"
    stop_s: float = 10
    media_type: str = "text/plain"
    slow_start: bool = False
    any_body: bool = False  # a command line or URL of the user's: its own first answer is the rule
    body_varies: bool = False  # and not even that: of its answers the status alone is looked at
    path: str = "/"  # of what is asked
    url: str | None = None  # where it runs already, and is not ours to start, freeze or stop

    def command_at(self, port: int) -> tuple[str, ...]:
        return fill(self.command, {"port": str(port), "host": HOST})

    def env_at(self, port: int) -> dict[str, str]:
        return fill_env(self.env, {"port": str(port), "host": HOST})


def contender_from(selection: Selection, built: Built) -> Contender:
    """A catalog's contender and its build."""
    start = selection.start
    values = {
        "build": str(built.path),
        "workers": str(start.workers),
        "threads": str(start.threads),
    }
    return Contender(
        name=selection.name,
        role="contender",
        command=fill(start.command, values),
        env=fill_env(start.env, values),
        cwd=str(built.path),
        workers=start.workers,
        threads=start.threads,
        ready_s=start.ready_s,
        stop_signal=start.stop_signal,
        stop_s=start.stop_s,
        media_type=selection.server.manifest.media_type,
        slow_start=selection.server.manifest.slow_start,
    )


def controls(engine: Engine) -> list[Contender]:
    """Two servers of ours that run in every block, whatever is compared.

    The null server does the least a server can: what it reads is the machine's doing, and the
    client's ceiling. The reference does a fixed piece of work a request, as a real server would.
    """
    return [
        Contender(
            name=name,
            role="control",
            command=tuple(engine.null_server("{port}", work)),
            ready_s=5,
            stop_s=3,
        )
        for name, work in CONTROL_WORKS.items()
    ]


def controls_for(protocol: Protocol, engine: Engine) -> list[Contender]:
    """The canaries that a protocol asks for; alone, none has a block to share, but the null
    server still says what the client can reach."""
    if not protocol.controls:
        return []
    found = controls(engine)
    if protocol.residency == "alone":
        return [contender for contender in found if contender.name == NULL_SERVER]
    return found
