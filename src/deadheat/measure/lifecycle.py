"""Starts and stops instances. Ready means the right answer, not only an open port."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from deadheat.errors import DeadheatError
from deadheat.host import Exited, Host, HostError, ProcessSpec, Usage
from deadheat.measure.contender import HOST, Contender
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
class Instance:
    """An instance that has answered, running or frozen. Without a process it is the user's own."""

    contender: Contender
    process: str
    port: int
    log_path: str
    ready_s: float

    @property
    def url(self) -> str:
        return self.contender.url or f"http://{HOST}:{self.port}{self.contender.path}"

    @property
    def address(self) -> tuple[str, int]:
        return (urlsplit(self.url).hostname or HOST, self.port)

    @property
    def path(self) -> str:
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def start(world: World, contender: Contender) -> Instance:
    """Start a contender on a free port and wait for its first right answer.

    If another process takes the port first, another port is tried. Raises `StartFailed`; then
    nothing is left running.
    """
    if contender.url is not None:
        return _join(world, contender, contender.url)
    for _ in range(PORTS_TRIED - 1):
        try:
            return _start(world, contender)
        except PortTaken:
            continue
    return _start(world, contender)


def _start(world: World, contender: Contender) -> Instance:
    host = world.server_host
    port = host.free_port()
    log_path = str(world.logs / f"{contender.name.replace(':', '-')}-{port}.log")
    spec = ProcessSpec(
        contender.command_at(port),
        cwd=contender.cwd,
        env=contender.env_at(port),
        cpus=world.server_cpus,
    )
    if is_taken(host, port):
        raise PortTaken(f"{contender.name}: port {port} is taken by another process", "")
    begun_s = host.now_s()
    try:
        process = host.start(spec, log_path)
    except HostError as error:
        raise StartFailed(f"{contender.name} cannot be started: {error}", "") from error
    instance = Instance(contender, process, port, log_path, 0.0)
    try:
        _await_ready(world, instance, begun_s)
    except StartFailed:
        host.stop(process, "SIGKILL", 0)
        raise
    return Instance(contender, process, port, log_path, host.now_s() - begun_s)


def stop(world: World, instance: Instance) -> Exited:
    """Thaw it, signal it to stop, and kill its tree after the deadline."""
    contender = instance.contender
    if not instance.process:
        return LEFT_RUNNING
    world.server_host.thaw(instance.process)
    return world.server_host.stop(instance.process, contender.stop_signal, contender.stop_s)


def freeze(world: World, instance: Instance) -> None:
    """Stop every thread of it from running."""
    if instance.process:
        world.server_host.freeze(instance.process)


def thaw(world: World, instance: Instance) -> None:
    """Let it run again."""
    if instance.process:
        world.server_host.thaw(instance.process)


def ended(world: World, instance: Instance) -> Exited | None:
    """How it ended; None while it lives, or if we cannot see."""
    return world.server_host.alive(instance.process) if instance.process else None


def usage(world: World, instance: Instance) -> Usage | None:
    """What it has used since its start; None for a server that is not ours."""
    return world.server_host.usage(instance.process) if instance.process else None


def log_tail(world: World, instance: Instance) -> str:
    """The end of the server's log."""
    if not instance.process:
        return ""
    return world.server_host.read_tail(instance.log_path, LOG_TAIL_BYTES)


def is_taken(host: Host, port: int) -> bool:
    """Whether anything listens there while our server does not run."""
    try:
        host.exchange((HOST, port), b"", ASK_INTERVAL_S)
    except HostError:
        return False
    return True


def _join(world: World, contender: Contender, url: str) -> Instance:
    """A server that runs already. It has to answer now."""
    instance = Instance(contender, "", urlsplit(url).port or 80, "", 0.0)
    answer = first_answer(world.server_host, instance.address, instance.path)
    if answer is None:
        raise StartFailed(f"{url}: nothing answers there", "", "start it, or check the port")
    if (fault := _fault(contender, answer)) is not None:
        raise StartFailed(f"{url}: {fault}", "", "choose a page that answers with status 200")
    return instance


def _await_ready(world: World, instance: Instance, begun_s: float) -> None:
    host, contender = world.server_host, instance.contender
    last: Response | None = None
    silence_s = SILENCE_S
    while host.now_s() - begun_s < contender.ready_s:
        asked_s = host.now_s()
        answer = first_answer(host, instance.address, instance.path, silence_s)
        if (end := ended(world, instance)) is not None:
            raise _early_end(world, instance, end)
        if answer is not None and _fault(contender, answer) is None:
            return
        if answer is None and host.now_s() - asked_s >= silence_s:
            silence_s = min(2 * silence_s, PATIENCE_S)  # it listens, and takes its time
        last = answer or last
        host.sleep(ASK_INTERVAL_S)
    fault = _fault(contender, last) if last is not None else "it never answered"
    hint = (
        "choose a page that answers with status 200: --path /PAGE" if contender.any_body else None
    )
    symptom = f"{contender.name} was not ready within {contender.ready_s:g} s: {fault}"
    raise StartFailed(symptom, log_tail(world, instance), hint if last is not None else None)


def _fault(contender: Contender, answer: Response) -> str | None:
    if contender.any_body:
        return None if answer.status == 200 else f"expected status 200, got {answer.status}"
    return fault_of(answer, contender.media_type, BODY)


def _early_end(world: World, instance: Instance, end: Exited) -> StartFailed:
    symptom = f"{instance.contender.name} ended before it was ready ({end.how})"
    words = log_tail(world, instance)
    if end.exit_code == 0:
        return StartFailed(f"{symptom}: its command has to stay in the foreground", words)
    if is_taken(world.server_host, instance.port):
        return PortTaken(f"{symptom}: port {instance.port} is taken by another process", words)
    return StartFailed(symptom, words)
