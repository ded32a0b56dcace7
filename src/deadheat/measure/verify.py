"""Verifying a started server: three checks decide, the rest is its behaviour card."""

from dataclasses import asdict, dataclass
from typing import Any

from deadheat.host import Host, HostError
from deadheat.measure.response import Response, read_responses

BODY = b"Hello, World!"
CLOSE = "Connection: close\r\n"
SILENCE_S = 0.3
PATIENCE_S = 5.0  # before silence is held against a server


@dataclass(frozen=True, slots=True)
class Behavior:
    """How a server behaves. None: it gave no readable answer to that question."""

    status: int | None
    media_type: str | None
    body_bytes: int | None
    framing: str | None  # content-length, chunked, close
    head_bytes: int | None
    date: bool
    server_header: str | None
    keep_alive: bool | None  # the connection stays after a response
    close_honored: bool | None  # `Connection: close` closes it
    http_1_0: str | None  # closes, keeps, refuses
    head: str | None  # empty, body, refuses
    pipelined: int | None  # responses to two requests in one packet
    unknown_path: int | None  # its status
    fault: str | None  # which of the three checks failed

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verify(
    host: Host,
    address: tuple[str, int],
    media_type: str = "text/plain",
    body: bytes = BODY,
    path: str = "/",
) -> Behavior:
    """Ask the server what a client could, each time on a fresh connection.

    The status, the media type and the body decide (`Card.fault`); nothing else does.
    """
    plain = _ask_patiently(host, address, _request(path=path))
    last = _request(CLOSE, path=path)  # its answer ends with the connection: no silence to await
    close = _ask_patiently(host, address, last)
    old = _ask_patiently(host, address, _request(path=path, version="HTTP/1.0"))
    head = _ask_patiently(host, address, _request(CLOSE, method="HEAD", path=path), "HEAD")
    pair = _ask_patiently(host, address, _request(path=path) + last)
    lost = _ask_patiently(host, address, _request(CLOSE, path="/deadheat-no-such-path"))
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
        close_honored=close.closed if close.first else None,
        http_1_0=_old(old),
        head=_head(head),
        pipelined=len(pair.responses) or None,
        unknown_path=lost.first.status if lost.first else None,
        fault=fault_of(first, media_type, body),
    )


def fault_of(response: Response | None, media_type: str, body: bytes) -> str | None:
    """Which of the three deciding checks a response fails, and how; None if it passes them."""
    if response is None:
        return "no readable HTTP response to GET /"
    if response.status != 200:
        return f"expected status 200, got {response.status}"
    told = response.headers.get("content-type", "")
    if told.split(";")[0].strip().lower() != media_type:
        return f"expected media type {media_type}, got {told or 'none'}"
    if response.body != body:
        shown = response.body[:60].decode(errors="replace")
        return f"expected the body {body.decode()!r}, got {shown!r} ({len(response.body)} bytes)"
    return None


def first_answer(
    host: Host, address: tuple[str, int], path: str = "/", silence_s: float = SILENCE_S
) -> Response | None:
    """One `GET`; None while nothing answers."""
    request = _request(CLOSE, path=path)
    return _ask(host, address, request, silence_s=silence_s).first


@dataclass(frozen=True, slots=True)
class _Answer:
    responses: list[Response]
    received_bytes: int
    closed: bool

    @property
    def first(self) -> Response | None:
        return self.responses[0] if self.responses else None


def _ask(
    host: Host,
    address: tuple[str, int],
    payload: bytes,
    method: str = "GET",
    silence_s: float = SILENCE_S,
) -> _Answer:
    try:
        answer = host.exchange(address, payload, silence_s)
    except HostError:
        return _Answer([], 0, closed=True)
    responses = read_responses(answer.received, method)
    return _Answer(responses, len(answer.received), answer.closed)


def _ask_patiently(
    host: Host, address: tuple[str, int], payload: bytes, method: str = "GET"
) -> _Answer:
    """Where no answer can be read, one that may take longer is asked for: machines are busy."""
    answer = _ask(host, address, payload, method)
    if answer.first is not None:
        return answer
    return _ask(host, address, payload, method, silence_s=PATIENCE_S)


def _request(
    headers: str = "", *, method: str = "GET", path: str = "/", version: str = "HTTP/1.1"
) -> bytes:
    return f"{method} {path} {version}\r\nHost: localhost\r\n{headers}\r\n".encode()


def _old(answer: _Answer) -> str | None:
    if answer.first is None:
        return None
    if answer.first.status != 200:
        return "refuses"
    return "closes" if answer.closed else "keeps"


def _head(answer: _Answer) -> str | None:
    if answer.first is None:
        return None
    if answer.first.status != 200:
        return "refuses"
    return "body" if answer.received_bytes > answer.first.head_bytes else "empty"
