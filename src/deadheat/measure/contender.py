"""`Racer`: a contender made ready to start, wherever it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.build.builder import Built
from deadheat.catalog import Contender, fill, fill_env
from deadheat.load import Engine
from deadheat.protocol import Protocol

CANARY = "null-server"
REFERENCE = "reference"
CANARY_WORKS = {CANARY: 0, REFERENCE: 5000}  # units of work a request
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Racer:
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


def from_contender(contender: Contender, built: Built) -> Racer:
    """A catalog's contender and its build."""
    start = contender.start
    values = {
        "build": str(built.path),
        "workers": str(start.workers),
        "threads": str(start.threads),
    }
    return Racer(
        name=contender.name,
        role="rival",
        command=fill(start.command, values),
        env=fill_env(start.env, values),
        cwd=str(built.path),
        workers=start.workers,
        threads=start.threads,
        ready_s=start.ready_s,
        stop_signal=start.stop_signal,
        stop_s=start.stop_s,
        media_type=contender.server.manifest.media_type,
        slow_start=contender.server.manifest.slow_start,
    )


def canaries(engine: Engine) -> list[Racer]:
    """Two servers of ours that run in every block, whatever is compared.

    The null server does the least a server can: what it reads is the machine's doing, and the
    client's ceiling. The reference does a fixed piece of work a request, as a real server would.
    """
    return [
        Racer(
            name=name,
            role="canary",
            command=tuple(engine.null_server("{port}", work)),
            ready_s=5,
            stop_s=3,
        )
        for name, work in CANARY_WORKS.items()
    ]


def companions(protocol: Protocol, engine: Engine) -> list[Racer]:
    """The canaries that a protocol asks for; alone, none has a block to share, but the null
    server still says what the client can reach."""
    if not protocol.canary:
        return []
    found = canaries(engine)
    if protocol.residency == "alone":
        return [racer for racer in found if racer.name == CANARY]
    return found
