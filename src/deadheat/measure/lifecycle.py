"""Starting and stopping a racer: ready means the right answer, never just an open port."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from deadheat.errors import DeadheatError
from deadheat.host import Exited, Host, HostError, ProcessSpec, Usage
from deadheat.measure.contender import HOST, Racer
from deadheat.measure.response import Response
from deadheat.measure.verify import BODY, PATIENCE_S, SILENCE_S, fault_of, first_answer
from deadheat.measure.world import World

ASK_INTERVAL_S = 0.02
LOG_TAIL_BYTES = 2000
PORTS_TRIED = 3
LEFT_RUNNING = Exited(exit_code=0, elapsed_s=0.0, survivors=0, killed=False)


class StartFailed(DeadheatError):
    """The server exited, never got ready, or answered wrongly; `log_tail` is its last words."""

    def __init__(self, message: str, log_tail: str, hint: str | None = None) -> None:
        shown = "\n".join(f"  | {line}" for line in log_tail.splitlines()[-10:])
        super().__init__(f"{message}\n{shown}" if shown else message, hint)
        self.reason = message
        self.log_tail = log_tail


class PortTaken(StartFailed):
    """Another process listens on the port that was free a moment ago."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A racer that runs (or is frozen) and has answered; without a process it is not ours."""

    racer: Racer
    process: str
    port: int
    log_path: str
    ready_s: float

    @property
    def url(self) -> str:
        return self.racer.url or f"http://{HOST}:{self.port}{self.racer.path}"

    @property
    def address(self) -> tuple[str, int]:
        return (urlsplit(self.url).hostname or HOST, self.port)

    @property
    def path(self) -> str:
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def start(world: World, racer: Racer) -> Resident:
    """Start a racer on a free port and wait for its first right answer.

    A port that another process takes first is given up for another. Raises `StartFailed`; nothing
    of it is left running then.
    """
    if racer.url is not None:
        return _join(world, racer, racer.url)
    for _ in range(PORTS_TRIED - 1):
        try:
            return _start(world, racer)
        except PortTaken:
            continue
    return _start(world, racer)


def _start(world: World, racer: Racer) -> Resident:
    host = world.server_host
    port = host.free_port()
    log_path = str(world.logs / f"{racer.name.replace(':', '-')}-{port}.log")
    spec = ProcessSpec(
        racer.command_at(port), cwd=racer.cwd, env=racer.env_at(port), cpus=world.server_cpus
    )
    if is_taken(host, port):
        raise PortTaken(f"{racer.name}: port {port} is taken by another process", "")
    begun_s = host.now_s()
    try:
        process = host.start(spec, log_path)
    except HostError as error:
        raise StartFailed(f"{racer.name} cannot be started: {error}", "") from error
    resident = Resident(racer, process, port, log_path, 0.0)
    try:
        _await_ready(world, resident, begun_s)
    except StartFailed:
        host.stop(process, "SIGKILL", 0)
        raise
    return Resident(racer, process, port, log_path, host.now_s() - begun_s)


def stop(world: World, resident: Resident) -> Exited:
    """Thaw, ask to stop, and after the deadline kill; nothing of its tree survives."""
    racer = resident.racer
    if not resident.process:
        return LEFT_RUNNING
    world.server_host.thaw(resident.process)
    return world.server_host.stop(resident.process, racer.stop_signal, racer.stop_s)


def freeze(world: World, resident: Resident) -> None:
    """Let nothing of it run while others are measured."""
    if resident.process:
        world.server_host.freeze(resident.process)


def thaw(world: World, resident: Resident) -> None:
    """Let it run again."""
    if resident.process:
        world.server_host.thaw(resident.process)


def ended(world: World, resident: Resident) -> Exited | None:
    """How it ended; None while it lives, as far as can be seen."""
    return world.server_host.alive(resident.process) if resident.process else None


def usage(world: World, resident: Resident) -> Usage | None:
    """What it has used since its start; None of a server that is not ours."""
    return world.server_host.usage(resident.process) if resident.process else None


def log_tail(world: World, resident: Resident) -> str:
    """The server's last words."""
    if not resident.process:
        return ""
    return world.server_host.read_tail(resident.log_path, LOG_TAIL_BYTES)


def is_taken(host: Host, port: int) -> bool:
    """Whether anything listens there while our server does not run."""
    try:
        host.exchange((HOST, port), b"", ASK_INTERVAL_S)
    except HostError:
        return False
    return True


def _join(world: World, racer: Racer, url: str) -> Resident:
    """A server that runs already: it has to answer at once."""
    resident = Resident(racer, "", urlsplit(url).port or 80, "", 0.0)
    answer = first_answer(world.server_host, resident.address, resident.path)
    if answer is None:
        raise StartFailed(f"{url}: nothing answers there", "", "start it first, or see its port")
    if (fault := _fault(racer, answer)) is not None:
        raise StartFailed(f"{url}: {fault}", "", "name a page of it that answers with 200")
    return resident


def _await_ready(world: World, resident: Resident, begun_s: float) -> None:
    host, racer = world.server_host, resident.racer
    last: Response | None = None
    silence_s = SILENCE_S
    while host.now_s() - begun_s < racer.ready_s:
        asked_s = host.now_s()
        answer = first_answer(host, resident.address, resident.path, silence_s)
        if (end := ended(world, resident)) is not None:
            raise _early_end(world, resident, end)
        if answer is not None and _fault(racer, answer) is None:
            return
        if answer is None and host.now_s() - asked_s >= silence_s:
            silence_s = min(2 * silence_s, PATIENCE_S)  # it listens, and takes its time
        last = answer or last
        host.sleep(ASK_INTERVAL_S)
    fault = _fault(racer, last) if last is not None else "it never answered"
    hint = "name a page of it that answers with 200: --path /PAGE" if racer.any_body else None
    told = f"{racer.name} was not ready within {racer.ready_s:g} s: {fault}"
    raise StartFailed(told, log_tail(world, resident), hint if last is not None else None)


def _fault(racer: Racer, answer: Response) -> str | None:
    if racer.any_body:
        return None if answer.status == 200 else f"expected status 200, got {answer.status}"
    return fault_of(answer, racer.media_type, BODY)


def _early_end(world: World, resident: Resident, end: Exited) -> StartFailed:
    told = f"{resident.racer.name} ended before it was ready ({end.how})"
    words = log_tail(world, resident)
    if end.exit_code == 0:
        return StartFailed(f"{told}: its command has to stay in the foreground", words)
    if is_taken(world.server_host, resident.port):
        return PortTaken(f"{told}: port {resident.port} is taken by another process", words)
    return StartFailed(told, words)
