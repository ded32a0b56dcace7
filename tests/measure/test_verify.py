"""Verification: of the plain answer, and of workloads."""

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from deadheat.host import Exchange, HostError, Usage
from deadheat.measure.response import Response, read_responses
from deadheat.measure.verify import (
    BODY,
    fault_of,
    growth_fault,
    verify,
    workload_fault,
)
from deadheat.store.json_columns import Behavior
from deadheat.workload import Workload, load_workload
from tests.measure.made_evidence import AnsweringHost

ADDRESS = ("127.0.0.1", 8080)
GREETING = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 13\r\nDate: now\r\nServer: made\r\n\r\nHello, World!"
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def good(request: bytes) -> Exchange:
    """The answers of a complete server."""
    heads = request.split(b"\r\n\r\n")[:-1]
    first = heads[0]
    if b"GET /deadheat" in first:
        return Exchange(NOT_FOUND, closed=False)
    if first.startswith(b"HEAD"):
        return Exchange(GREETING.removesuffix(BODY), closed=False)
    closes = b"Connection: close" in first or b"HTTP/1.0" in first
    return Exchange(GREETING * len(heads), closed=closes)


def behavior_of(answers: Callable[[bytes], Exchange]) -> Behavior:
    return verify(AnsweringHost(lambda _, request, __: answers(request)), ADDRESS)


def test_behavior_of_a_complete_server() -> None:
    assert behavior_of(good) == Behavior(
        status=200,
        media_type="text/plain; charset=utf-8",
        body_bytes=13,
        framing="content-length",
        head_bytes=len(GREETING) - 13,
        date=True,
        server_header="made",
        keep_alive=True,
        close_honored=True,
        http_1_0="closes",
        head="empty",
        pipelined=2,
        unknown_path=404,
        fault=None,
    )


def test_behavior_of_a_server_that_closes_every_connection() -> None:
    """It closes after every response, and answers every request alike."""
    behavior = behavior_of(lambda _: Exchange(GREETING, closed=True))
    assert behavior.fault is None
    assert (behavior.keep_alive, behavior.pipelined, behavior.head) == (False, 1, "body")
    assert behavior.unknown_path == 200


def test_behavior_of_a_server_that_never_closes() -> None:
    """It never closes, and refuses HTTP/1.0 and HEAD."""

    def answers(request: bytes) -> Exchange:
        refused = b"HTTP/1.0" in request or request.startswith(b"HEAD")
        return Exchange(NOT_FOUND if refused else GREETING, closed=False)

    behavior = behavior_of(answers)
    assert (behavior.close_honored, behavior.http_1_0, behavior.head) == (
        False,
        "refuses",
        "refuses",
    )


def test_behavior_of_a_silent_server() -> None:
    behavior = behavior_of(lambda _: Exchange(b"", closed=False))
    assert behavior.fault == "no readable HTTP response to GET /"
    values = {**behavior.as_stored()}
    del values["fault"], values["date"]
    assert set(values.values()) == {None}


def test_slow_answer_is_retried() -> None:
    """Regression: one answer later than 0.3 s excluded a server, or hid its behavior."""

    def slow(_: int, request: bytes, silence_s: float) -> Exchange:
        return good(request) if silence_s > 2 else Exchange(b"", closed=False)

    assert verify(AnsweringHost(slow), ADDRESS) == behavior_of(good)


def test_only_status_media_type_and_body_decide() -> None:
    def answers(request: bytes) -> Exchange:
        if request == b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n":
            return Exchange(GREETING, closed=False)
        raise HostError("reset")

    behavior = behavior_of(answers)
    assert behavior.fault is None
    assert (behavior.close_honored, behavior.http_1_0, behavior.head) == (None, None, None)
    assert (behavior.pipelined, behavior.unknown_path) == (None, None)


def response(received: bytes) -> Response:
    (parsed,) = read_responses(received).responses
    return parsed


@pytest.mark.parametrize(
    ("received", "fault"),
    [
        (GREETING, None),
        (GREETING.replace(b"text/plain; charset=utf-8", b"TEXT/Plain"), None),
        (NOT_FOUND, "expected status 200, got 404"),
        (GREETING.replace(b"200", b"502"), "expected status 200, got 502"),
        (
            GREETING.replace(b"text/plain", b"text/html"),
            "expected media type text/plain, got text/html; charset=utf-8",
        ),
        (
            GREETING.replace(b"Content-Type", b"X-Type"),
            "expected media type text/plain, got none",
        ),
        (
            GREETING.replace(b"13", b"12"),
            "expected the body 'Hello, World!', got 'Hello, World' (12 bytes)",
        ),
        (
            GREETING.replace(b"World", b"\xffWor."),
            "expected the body 'Hello, World!', got 'Hello, \N{REPLACEMENT CHARACTER}Wor.!' "
            "(13 bytes)",
        ),
    ],
)
def test_fault_of_a_response(received: bytes, fault: str | None) -> None:
    assert fault_of(response(received), "text/plain") == fault


ROOT = Path(__file__).resolve().parents[2]
ORDER = re.compile(r"GET /(users|resource\d\d?)/([^/ ]+)/orders/([^/? ]+)\?(\S*)")
Answers = Callable[[str], tuple[int, str]]


def right(line: str) -> tuple[int, str]:
    match = ORDER.match(line)
    if match is None:
        return 404, ""
    collection, user, order, query = match.groups()
    (page,) = re.findall(r"(?:^|&)page=([^&]*)", query)
    return 200, " ".join(map(unquote, (collection, user, order, page)))


def workload_fault_of(answers: Answers, name: str = "route") -> str | None:
    """Of a server that answers a request line with a status and a body."""

    def answered(_: int, request: bytes, __: float) -> Exchange:
        status, body = answers(request.decode().split("\r\n")[0])
        head = f"HTTP/1.1 {status} x\r\nContent-Type: text/plain\r\n"
        answer = f"{head}Content-Length: {len(body)}\r\n\r\n{body}"
        return Exchange(answer.encode(), closed=True)

    return workload_fault(AnsweringHost(answered), ADDRESS, load_workload(ROOT, name))


def test_a_right_server_has_no_fault() -> None:
    assert workload_fault_of(right) is None


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (lambda line: (200, right(line)[1]), "an unknown collection: GET /resource100/"),
        (lambda line: (200, "users 1 2 3"), "as loaded: GET /users/"),
        (
            lambda line: right(line.replace("%", "%25")),
            "text as parameters, with escapes: GET /users/a%20b/",
        ),
        (lambda line: (500, ""), "expected status 200, got 500"),
    ],
)
def test_names_the_request_that_gets_a_wrong_answer(wrong: Answers, fault: str) -> None:
    reported = workload_fault_of(wrong)
    assert reported is not None
    assert reported.startswith("workload route, ")
    assert fault in reported


def test_an_answer_that_did_not_wait_is_wrong() -> None:
    reported = workload_fault_of(lambda line: (200, "waited"), "wait")
    assert reported is not None
    assert "expected the answer after 9 ms" in reported


class GrowingHost(AnsweringHost):
    """A host whose server keeps a part of each body, of the first `kept_max` ones."""

    def __init__(self, kept_bytes: int, kept_max: int) -> None:
        super().__init__(self._stored)
        self._kept_bytes = kept_bytes
        self._kept_max = kept_max
        self.uploads = 0

    def usage(self, process: str) -> Usage:
        return Usage(0.0, min(self.uploads, self._kept_max) * self._kept_bytes, 0, 1, 1)

    def _stored(self, _: int, request: bytes, __: float) -> Exchange:
        self.uploads += 1
        body = request.split(b"\r\n\r\n", 1)[1]
        answer = b"%d %08x" % (len(body), zlib.crc32(body))
        head = b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n" % len(answer)
        return Exchange(head + answer, closed=True)


@pytest.mark.parametrize(
    ("kept_bytes", "kept_max", "uploads", "fault"),
    [
        (1000, 999, 20, None),
        (1 << 20, 20, 40, None),  # the heaps of several workers, which are full then
        (1 << 20, 40, 40, "its memory grew by 20 MiB, expected 10 MiB or less"),
    ],
)
def test_limits_how_much_memory_grows_over_repeated_uploads(
    kept_bytes: int, kept_max: int, uploads: int, fault: str | None
) -> None:
    """Regression: Rails with four workers failed, because each worker filled a heap."""
    host = GrowingHost(kept_bytes, kept_max)
    check = {
        "about": "many",
        "path": "/upload",
        "body": "abc",
        "repeat": 20,
        "growth_mib_max": 10,
        "expect": {"body": "{body.length} {body.crc32}"},
    }
    workload = Workload.model_validate(
        {"name": "a", "about": "b", "requests": [{"path": "/"}], "checks": [check]}
    )
    reported = growth_fault(host, "server", ADDRESS, workload)
    assert host.uploads == uploads
    assert reported == (f"workload a, many: POST /upload: {fault}" if fault else None)
