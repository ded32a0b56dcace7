"""Verification of a started server.

Three checks decide; its other behavior is noted. A workload adds its own requests, hostile ones
included.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from deadheat.host import Host, HostError
from deadheat.measure.response import Received, Response, read_responses
from deadheat.store.json_columns import Behavior
from deadheat.workload import SampleRequest, Workload

BODY = b"Hello, World!"
CLOSE = "Connection: close\r\n"
UNKNOWN_PATH = "/deadheat-no-such-path"
SILENCE_S = 0.3
PATIENCE_S = 5.0  # silence after which a server counts as not answering
DEADLINE_S = 30.0  # of one exchange, silent or not
LEAST_DEADLINE_S = 0.05  # of a request after a slow one
SHOWN_BYTES = 60
TLS_ALERT = b"\x15\x03"  # how its record begins
SAMPLES = 3  # requests of each template, with different values
GROWTH_ROUNDS = 2


def verify(
    host: Host,
    address: tuple[str, int],
    media_type: str = "text/plain",
    path: str = "/",
    deadline_s: float = DEADLINE_S,
) -> Behavior:
    """Send the server several requests, each on a new connection; all end within `deadline_s`.

    Only the status, the media type and the body decide (`Behavior.fault`).
    """

    ends_s = host.now_s() + deadline_s

    def send(payload: bytes, method: str = "GET") -> Answer:
        left_s = max(LEAST_DEADLINE_S, ends_s - host.now_s())
        return ask_payload(host, address, payload, left_s, method)

    plain = send(_request(path=path))
    last = last_request(path)
    closing = send(last)
    http_1_0 = send(_request(path=path, version="HTTP/1.0"))
    head = send(_request(CLOSE, method="HEAD", path=path), "HEAD")
    has_body = head.first is not None and head.received_bytes > head.first.head_bytes
    pair = send(_request(path=path) + last)
    unknown = send(last_request(UNKNOWN_PATH))
    first = plain.first
    return Behavior(
        status=first.status if first else None,
        media_type=first.headers.get("content-type") if first else None,
        body_bytes=len(first.body) if first else None,
        framing=first.framing if first else None,
        head_bytes=first.head_bytes if first else None,
        date=first is not None and "date" in first.headers,
        server_header=first.headers.get("server") if first else None,
        keep_alive=not plain.closed if first else None,
        close_honored=closing.closed if closing.first else None,
        http_1_0=_unless_refused(http_1_0, "closes" if http_1_0.closed else "keeps"),
        head=_unless_refused(head, "body" if has_body else "empty"),
        pipelined=len(pair.received.responses) or None,
        unknown_path=unknown.first.status if unknown.first else None,
        fault=fault_of(first, media_type),
    )


def fault_of(response: Response | None, media_type: str) -> str | None:
    """The deciding check that a response fails, and how; None if it passes all three."""
    if response is None:
        return "no readable HTTP response to GET /"
    if response.status != 200:
        return f"expected status 200, got {response.status}"
    received = response.headers.get("content-type", "")
    if received.split(";")[0].strip().lower() != media_type:
        return f"expected media type {media_type}, got {received or 'none'}"
    if response.body != BODY:
        shown = response.body[:60].decode(errors="replace")
        return f"expected the body {BODY.decode()!r}, got {shown!r} ({len(response.body)} bytes)"
    return None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent in one exchange; `error` says why there was none."""

    received: Received
    received_bytes: int
    start: bytes  # the first of them
    closed: bool
    in_time: bool = True
    error: str | None = None

    @property
    def first(self) -> Response | None:
        return next(iter(self.received.responses), None)

    @property
    def wants_tls(self) -> bool:
        """Whether it is what servers answer to plain HTTP on a port of TLS."""
        first = self.first
        refused = first is not None and first.status == 400 and b"HTTPS" in first.body
        return refused or self.start.startswith(TLS_ALERT)

    @property
    def hung_up(self) -> bool:
        """Whether the server closed the connection without a byte."""
        has_error = self.error is not None and "closed the connection" not in self.error
        return self.closed and not self.received_bytes and not has_error

    @property
    def unreadable(self) -> str | None:
        """Why the bytes are no response; None if they are one, or if there are none."""
        if self.first is not None or not self.received_bytes:
            return None
        if self.wants_tls:
            return "it speaks TLS on this port"
        if self.received.is_malformed:
            shown = self.start.decode(errors="replace")
            return f"its answer is not HTTP ({self.received.rest}): {shown!r}"
        what = f"no complete response: {self.received_bytes} bytes and an unfinished"
        return f"{what} {self.received.rest}"


def ask_payload(
    host: Host,
    address: tuple[str, int],
    payload: bytes,
    deadline_s: float = DEADLINE_S,
    method: str = "GET",
) -> Answer:
    """The answer to the bytes of one request.

    After silence, it is asked again and waits longer, in case the machine is busy.
    """
    answer = ask_once(host, address, payload, SILENCE_S, deadline_s, method)
    if answer.first is not None or not answer.in_time:
        return answer
    return ask_once(host, address, payload, PATIENCE_S, deadline_s, method)


def first_answer(
    host: Host, address: tuple[str, int], path: str = "/", deadline_s: float = DEADLINE_S
) -> Response | None:
    """The response to one `GET`, asked twice after silence; None if there is no readable one."""
    return ask_payload(host, address, last_request(path), deadline_s).first


def ask_once(
    host: Host,
    address: tuple[str, int],
    payload: bytes,
    silence_s: float,
    deadline_s: float,
    method: str = "GET",
) -> Answer:
    """The answer to the bytes of one request, readable or not."""
    try:
        exchange = host.exchange(address, payload, silence_s, deadline_s)
    except HostError as error:
        return Answer(Received((), "nothing"), 0, b"", closed=True, error=str(error))
    received = read_responses(exchange.received, method, exchange.closed)
    size_bytes, start = len(exchange.received), exchange.received[:SHOWN_BYTES]
    return Answer(received, size_bytes, start, exchange.closed, exchange.in_time)


def last_request(path: str) -> bytes:
    """A `GET` after which the connection closes, so that there is no silence to wait for."""
    return _request(CLOSE, path=path)


def _request(
    headers: str = "", *, method: str = "GET", path: str = "/", version: str = "HTTP/1.1"
) -> bytes:
    return f"{method} {path} {version}\r\nHost: localhost\r\n{headers}\r\n".encode()


def _unless_refused(answer: Answer, behavior: str) -> str | None:
    """None without an answer."""
    if answer.first is None:
        return None
    return behavior if answer.first.status == 200 else "refuses"


def workload_fault(
    host: Host, address: tuple[str, int], workload: Workload, deadline_s: float = DEADLINE_S
) -> str | None:
    """The first request that gets a wrong answer, and how; None if all are right.

    Each request is sent on a new connection that lasts `deadline_s` at most.
    """
    for about, sample in _requests(workload):
        fault = _answer_fault(host, address, sample, deadline_s)
        if fault is not None:
            return _described(workload, about, sample, fault)
    return None


def growth_fault(
    host: Host,
    process: str,
    address: tuple[str, int],
    workload: Workload,
    deadline_s: float = DEADLINE_S,
) -> str | None:
    """The first check that is repeated and gets a wrong answer, or makes memory grow too much.

    Memory has to grow too much in each of `GROWTH_ROUNDS` rounds: several worker processes each
    fill a heap in the first round, and a server that keeps what it gets grows again.
    """
    for check, sample in workload.checked():
        if check.growth_mib_max is None:
            continue
        for _ in range(GROWTH_ROUNDS):
            before_bytes = host.usage(process).memory_bytes
            for _ in range(check.repeat):
                fault = _answer_fault(host, address, sample, deadline_s)
                if fault is not None:
                    return _described(workload, check.about, sample, fault)
            growth_mib = (host.usage(process).memory_bytes - before_bytes) / (1 << 20)
            if growth_mib <= check.growth_mib_max:
                break
        else:
            fault = (
                f"its memory grew by {growth_mib:.0f} MiB, "
                f"expected {check.growth_mib_max} MiB or less"
            )
            return _described(workload, check.about, sample, fault)
    return None


def _answer_fault(
    host: Host, address: tuple[str, int], sample: SampleRequest, deadline_s: float
) -> str | None:
    begun_s = host.now_s()
    answer = ask_payload(host, address, sample.payload("Connection: close"), deadline_s)
    took_s = host.now_s() - begun_s
    if answer.first is None and answer.unreadable is not None:
        return answer.unreadable
    fault = sample_fault(sample, answer.first)
    if fault is None and took_s * 1000 < sample.after_ms:
        return (
            f"expected the answer after {sample.after_ms:g} ms or more, "
            f"got it after {took_s * 1000:.1f} ms"
        )
    return fault


def _described(workload: Workload, about: str, sample: SampleRequest, fault: str) -> str:
    return f"workload {workload.name}, {about}: {sample.method} {sample.path}: {fault}"


def sample_fault(sample: SampleRequest, response: Response | None) -> str | None:
    """What is wrong with the answer to one request of a workload; None if it is right."""
    if response is None:
        return "no readable HTTP response"
    media_type = response.headers.get("content-type", "")
    return sample.fault(response.status, media_type, response.body)


def _requests(workload: Workload) -> Iterator[tuple[str, SampleRequest]]:
    """All that is sent, each with what it tries."""
    for sample in workload.samples(SAMPLES if workload.variables else 1):
        yield "as loaded", sample
    for check, sample in workload.checked():
        yield check.about, sample
