"""Starts and stops instances. Ready means the right answer, not only an open port."""

from dataclasses import replace

from deadheat.build.image import runtime_hint
from deadheat.errors import DeadheatError
from deadheat.host import Exited, Host, HostError, ProcessSpec, Usage
from deadheat.measure.contender import LOOPBACK, Contender, Instance
from deadheat.measure.http2 import (
    behavior_over_http2,
    http2_workload_fault,
    ready_fault,
    tls_fault,
    tls_parameters,
)
from deadheat.measure.listening import is_known, missed_port, wrong_listener
from deadheat.measure.response import Response
from deadheat.measure.url import ServerUrl
from deadheat.measure.verify import (
    PATIENCE_S,
    SILENCE_S,
    Answer,
    ask_once,
    ask_payload,
    fault_of,
    last_request,
    sample_fault,
    verify,
    workload_fault,
)
from deadheat.measure.world import World
from deadheat.store.json_columns import Behavior
from deadheat.workload import Workload

ASK_INTERVAL_S = 0.02
LOG_TAIL_BYTES = 2000
PORTS_TRIED = 3
TLS_HINT = "if it speaks TLS, put {cert} and {key} into its command"
URL_HINT = "if it speaks TLS on this port: --url https://..."
SETTLED_S = 2.0  # after so long, the user's own server means the same 4xx
IPV6_LOOPBACK = "::1"
UNKNOWN_LISTENER = "this machine does not show whether its own processes listen on its port"
LEFT_RUNNING = Exited(exit_code=0, elapsed_s=0.0, survivors=0, killed=False)
Member = tuple[int, int]  # PID and start, which together are unique


class StartFailed(DeadheatError):
    """The server exited, never got ready, or answered wrongly; `log_tail` is its last words.

    `answered`: it gave a wrong answer, so that more time would not help.
    """

    def __init__(
        self, message: str, log_tail: str, hint: str | None = None, answered: bool = False
    ) -> None:
        shown = "\n".join(f"  | {line}" for line in log_tail.splitlines()[-10:])
        super().__init__(f"{message}\n{shown}" if shown else message, hint)
        self.reason = message
        self.log_tail = log_tail
        self.answered = answered


class EndedEarly(StartFailed):
    """Its process ended by itself before it was ready; the next start may go well."""


class PortTaken(StartFailed):
    """Another process listens on the port that was free a moment ago."""


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
    host, address = world.server_host, world.server_address
    port = world.port or host.free_port()
    log_path = str(world.logs / f"{contender.name.replace(':', '-')}-{port}.log")
    made = world.certificates if contender.speaks_tls else None
    files = made.values() if made is not None else {}
    trust = made.trust if made is not None else ()
    spec = ProcessSpec(
        contender.command_at(port, address, files),
        cwd=contender.cwd,
        env=contender.env_at(port, address, files),
        cpus=world.server_cpus,
        limited=True,
        client=contender.image is not None,
    )
    if is_taken(host, port, address):
        raise PortTaken(f"{contender.name}: port {port} is taken by another process", "")
    begun_s = host.now_s()
    try:
        process = host.start(spec, log_path)
    except HostError as error:
        raise StartFailed(f"{contender.name} cannot be started: {error}", "") from error
    instance = Instance(contender, process, port, log_path, 0.0, host=address, trust=trust)
    try:
        _await_ready(world, instance, begun_s)
        ready_s = host.now_s() - begun_s
        _adopt_container(world, instance)
        listens_itself = _require_own_listener(world, instance)
        if (fault := tls_fault(world, instance)) is not None:
            raise StartFailed(f"{contender.name}: {fault}", log_tail(world, instance))
    except StartFailed:
        host.stop(process, "SIGKILL", 0)
        _remove_container(world, instance)
        raise
    return replace(instance, ready_s=ready_s, listens_itself=listens_itself)


def stop(world: World, instance: Instance) -> Exited:
    """Thaw it, signal it to stop, and kill its tree after the deadline."""
    contender = instance.contender
    if not instance.process:
        return LEFT_RUNNING
    world.server_host.thaw(instance.process)
    exited = world.server_host.stop(instance.process, contender.stop_signal, contender.stop_s)
    _remove_container(world, instance)
    return exited


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
    if not instance.process:
        return None
    exited = world.server_host.alive(instance.process)
    if exited is None or (image := instance.contender.image) is None:
        return exited
    return image.explained(world.server_host, instance.port, exited)


def usage(world: World, instance: Instance) -> Usage | None:
    """What it has used since its start; None for a server whose processes are not seen."""
    if instance.running is not None:
        try:
            return world.server_host.usage(instance.running.process)
        except HostError:  # the user has ended it
            return None
    return world.server_host.usage(instance.process) if instance.process else None


def log_tail(world: World, instance: Instance) -> str:
    """The end of the server's log."""
    if not instance.process:
        return ""
    return world.server_host.read_tail(instance.log_path, LOG_TAIL_BYTES)


def _adopt_container(world: World, instance: Instance) -> None:
    """Account for, freeze and stop the processes of the container. Raises `StartFailed`."""
    image, host = instance.contender.image, world.server_host
    if image is None:
        return
    try:
        host.adopt(instance.process, image.first_process(host, instance.port))
    except HostError as error:
        if (end := ended(world, instance)) is not None:  # after its first answer
            raise _early_end(world, instance, end) from error
        name = instance.contender.name
        words = log_tail(world, instance)
        raise StartFailed(f"{name} is not measured: {error}", words, error.hint) from error


def _remove_container(world: World, instance: Instance) -> None:
    if (image := instance.contender.image) is not None:
        image.remove(world.server_host, instance.port)


def is_taken(host: Host, port: int, address: str = LOOPBACK) -> bool:
    """Whether anything listens there while our server does not run."""
    try:
        host.exchange((address, port), b"", ASK_INTERVAL_S, ASK_INTERVAL_S)
    except HostError:
        return False
    return True


def _join(world: World, contender: Contender, url: str) -> Instance:
    """A server that runs already. It has to answer now."""
    port = ServerUrl.parse(url).port
    instance = Instance(contender, "", port, "", 0.0, trust=contender.trust)
    if contender.speaks_http2:
        if (fault := ready_fault(world, instance, contender.ready_s)) is not None:
            raise StartFailed(f"{url}: {fault}", "", "start it, or check the port and --transport")
        return _found_running(world, instance)
    answer = _ask(world.server_host, instance, SILENCE_S, contender.ready_s)
    may_speak_tls = not contender.speaks_tls and (answer.wants_tls or answer.hung_up)
    if answer.first is None:
        without_tls = contender.speaks_tls and (tls_fault(world, instance) or answer.error)
        why = answer.unreadable or without_tls or "nothing answers there"
        if may_speak_tls and answer.hung_up:
            why = "it closes the connection without an answer"
        hint = _unanswered_hint(world.server_host, url, answer)
        raise StartFailed(f"{url}: {why}", "", URL_HINT if may_speak_tls else hint)
    if (fault := answer_fault(contender, answer.first)) is not None:
        status_hint = _hint_of(contender, answer.first, "--url URL")
        raise StartFailed(f"{url}: {fault}", "", URL_HINT if may_speak_tls else status_hint)
    if (fault := tls_fault(world, instance)) is not None:
        raise StartFailed(f"{url}: {fault}", "")
    return _found_running(world, instance)


def _found_running(world: World, instance: Instance) -> Instance:
    """With its processes, if this machine shows them."""
    try:
        return replace(instance, running=world.server_host.find_running(instance.address))
    except HostError as error:
        return replace(instance, unseen=str(error))


def _await_ready(world: World, instance: Instance, begun_s: float) -> None:
    """Ask until the answer is right. All that waits here ends after `ready_s`.

    The user's own server that answers with one 4xx for `SETTLED_S` has started, and means it.
    """
    host, contender = world.server_host, instance.contender
    if contender.speaks_http2:
        return _await_http2(world, instance, begun_s)
    last: Answer | None = None
    refused_since_s: dict[int, float] = {}  # by status; of the latest status alone
    silence_s = SILENCE_S
    while (left_s := contender.ready_s - (host.now_s() - begun_s)) > 0:
        asked_s = host.now_s()
        answer = _ask(host, instance, silence_s, left_s)
        if (end := ended(world, instance)) is not None:
            raise _early_end(world, instance, end)
        if answer.first is not None and answer_fault(contender, answer.first) is None:
            return
        if answer.first is None and host.now_s() - asked_s >= silence_s:
            silence_s = min(2 * silence_s, PATIENCE_S)  # it listens, and takes its time
        if last is None or _says_more(answer, last):
            last = answer
        status = answer.first.status if answer.first is not None else 0
        since_s = refused_since_s.get(status, asked_s)
        refused_since_s = {status: since_s} if 400 <= status < 500 else {}
        if refused_since_s and contender.any_body and host.now_s() - since_s >= SETTLED_S:
            raise _never_ready(world, instance, last, settled=True)
        host.sleep(ASK_INTERVAL_S)
    raise _never_ready(world, instance, last)


def _await_http2(world: World, instance: Instance, begun_s: float) -> None:
    host, contender = world.server_host, instance.contender
    fault: str | None = "it never answered"
    while (left_s := contender.ready_s - (host.now_s() - begun_s)) > 0:
        fault = ready_fault(world, instance, left_s)
        if (end := ended(world, instance)) is not None:
            raise _early_end(world, instance, end)
        if fault is None:
            return
        host.sleep(ASK_INTERVAL_S)
    symptom = f"{contender.name} was not ready within {contender.ready_s:.3g} s: {fault}"
    raise StartFailed(symptom, log_tail(world, instance))


def fault_on(world: World, instance: Instance, workload: Workload) -> str | None:
    """The first request of a workload that it answers wrong, and how; None if all are right."""
    if instance.contender.speaks_http2:
        return http2_workload_fault(world, instance, workload)
    ready_s = instance.contender.ready_s
    return workload_fault(world.server_host, instance.address, workload, ready_s)


def behavior_of(world: World, instance: Instance, deadline_s: float) -> Behavior:
    """Verify a server: how it behaves, and the check that it fails."""
    contender = instance.contender
    if contender.speaks_http2:
        behavior = behavior_over_http2(world, instance, deadline_s)
    else:
        path = (contender.sample or instance).path
        behavior = verify(
            world.server_host, instance.address, contender.media_type, path, deadline_s
        )
    tls = tls_parameters(world, instance)
    return behavior.model_copy(update={"tls": tls}) if tls else behavior


def _says_more(answer: Answer, last: Answer) -> bool:
    """Whether an answer explains more than the last one: a response, then bytes, then silence."""

    def weight(each: Answer) -> tuple[bool, bool]:
        return each.first is not None, each.received_bytes > 0

    return weight(answer) >= weight(last)


def _never_ready(
    world: World, instance: Instance, last: Answer | None, settled: bool = False
) -> StartFailed:
    contender, hint = instance.contender, None
    fault, answered = "it never answered", False
    if last is not None and last.first is not None:
        fault, answered = answer_fault(contender, last.first) or fault, True
        if contender.any_body:
            hint = _hint_of(contender, last.first, "--path /PAGE")
    elif last is not None and last.unreadable is not None:
        fault = last.unreadable
        hint = "deadheat measures HTTP/1.1; with {cert} and {key} in the command, over TLS"
    elif last is not None and last.error is not None:
        _adopt_container(world, instance)
        listeners = world.server_host.listeners(instance.process, instance.port)
        if (missed := missed_port(listeners, instance.port, instance.host)) is not None:
            fault, hint = missed.reason, missed.hint
        elif is_known(listeners, instance.port, instance.host):
            fault = tls_fault(world, instance) or last.error
    hung_up = last is not None and hint is None and last.hung_up
    if hung_up:
        fault = "it closes each connection without an answer"
    if not contender.speaks_tls and (hung_up or (last is not None and last.wants_tls)):
        hint = TLS_HINT
    symptom = f"{contender.name} was not ready within {contender.ready_s:.3g} s: {fault}"
    if settled:
        symptom = f"{contender.name} is not measured: {fault}"
    return StartFailed(symptom, log_tail(world, instance), hint, answered)


def _hint_of(contender: Contender, answer: Response, other_page: str) -> str | None:
    """What to do about a wrong answer of the user's own server."""
    if answer.status in (401, 403):
        return "send the header that it expects, such as -H 'Authorization: Bearer TOKEN'"
    if contender.sample is not None:  # its path, headers and status
        return None
    return (
        f"choose a page that answers with status 200: {other_page}; or expect this status: "
        f"--expect-status {answer.status}"
    )


def _unanswered_hint(host: Host, url: str, answer: Answer) -> str:
    """What to do about a URL at which nothing answers."""
    asked = ServerUrl.parse(url)
    refused = answer.error is not None and asked.host == LOOPBACK
    if refused and is_taken(host, asked.port, IPV6_LOOPBACK):
        there = replace(asked, host=IPV6_LOOPBACK)
        return f"it listens on IPv6 only: --url {there.base}{there.target[1:]}"
    return "start it, or check the port"


def _require_own_listener(world: World, instance: Instance) -> bool | None:
    """Raises `StartFailed` if another server answers; None if this cannot be seen."""
    listeners = world.server_host.listeners(instance.process, instance.port)
    wrong = wrong_listener(listeners, instance.port, instance.host)
    if wrong is not None:
        if (end := ended(world, instance)) is not None:  # after its first answer
            raise _early_end(world, instance, end)
        symptom = f"{instance.contender.name} is not measured: {wrong.reason}"
        raise StartFailed(symptom, log_tail(world, instance), wrong.hint)
    return True if is_known(listeners, instance.port, instance.host) else None


def _ask(host: Host, instance: Instance, silence_s: float, deadline_s: float) -> Answer:
    payload = ready_payload(instance)
    if instance.contender.sample is None:
        return ask_once(host, instance.address, payload, silence_s, deadline_s)
    return ask_payload(host, instance.address, payload, deadline_s)


def ready_payload(instance: Instance) -> bytes:
    """The request that shows whether the instance is ready."""
    sample = instance.contender.sample
    return last_request(instance.path) if sample is None else sample.payload("Connection: close")


def answer_fault(contender: Contender, answer: Response) -> str | None:
    """What is wrong with its first answer; None if it is right."""
    if contender.sample is not None:
        return sample_fault(contender.sample, answer)
    if contender.any_body:
        return None if answer.status == 200 else f"expected status 200, got {answer.status}"
    return fault_of(answer, contender.media_type)


def _early_end(world: World, instance: Instance, end: Exited) -> StartFailed:
    symptom = f"{instance.contender.name} ended before it was ready ({end.how})"
    words = log_tail(world, instance)
    if end.limit is not None:
        return StartFailed(symptom, words)
    if instance.contender.image is not None and (hint := runtime_hint(words)) is not None:
        return StartFailed(symptom, words, hint)
    if end.exit_code == 0:
        return EndedEarly(f"{symptom}: its command has to stay in the foreground", words)
    if is_taken(world.server_host, instance.port, instance.host):
        return PortTaken(f"{symptom}: port {instance.port} is taken by another process", words)
    return EndedEarly(symptom, words)


class Workers:
    """Counts the worker processes of one instance that end during a load.

    A worker process was there before and after an earlier load that opened connections: the warm-up
    or a trial. A process per request or per connection never is, because it ends with these. So
    neither is a worker that lives shorter than one load; the errors that it leaves are counted.
    """

    def __init__(self, host: Host, process: str) -> None:
        self._host = host
        self._process = process
        self._workers: frozenset[Member] = frozenset()
        self._before: frozenset[Member] = frozenset()

    def begin(self) -> None:
        """Call it before a load."""
        self._before = self._host.members(self._process)

    def end(self, opened_connections: bool = True) -> int:
        """The number of worker processes that ended since `begin`.

        Without `opened_connections` the load kept those of an earlier one. Then a process per
        connection outlives it too, so its processes do not become workers.
        """
        after = self._host.members(self._process)
        gone = (self._workers & self._before) - after
        self._workers &= after
        if opened_connections:
            self._workers |= self._before & after
        return len(gone)
