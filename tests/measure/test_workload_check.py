"""Verification of workloads, against a server that is right except for one fault."""

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from deadheat.host import Exchange, Usage
from deadheat.host.fake import FakeHost
from deadheat.measure.verify import growth_fault, workload_fault
from deadheat.workload import Workload, load_workload

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = ("127.0.0.1", 8080)
ORDER = re.compile(r"GET /(users|resource\d\d?)/([^/ ]+)/orders/([^/? ]+)\?(\S*)")
Answers = Callable[[str], tuple[int, str]]


class RoutingHost(FakeHost):
    """A host whose server answers a request line with a status and a body."""

    def __init__(self, answers: Answers) -> None:
        super().__init__()
        self._answers = answers

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        status, body = self._answers(payload.decode().split("\r\n")[0])
        head = f"HTTP/1.1 {status} x\r\nContent-Type: text/plain\r\n"
        answer = f"{head}Content-Length: {len(body)}\r\n\r\n{body}"
        return Exchange(answer.encode(), closed=True)


def right(line: str) -> tuple[int, str]:
    match = ORDER.match(line)
    if match is None:
        return 404, ""
    collection, user, order, query = match.groups()
    (page,) = re.findall(r"(?:^|&)page=([^&]*)", query)
    return 200, " ".join(map(unquote, (collection, user, order, page)))


def fault_of(answers: Answers, name: str = "route") -> str | None:
    return workload_fault(RoutingHost(answers), ADDRESS, load_workload(ROOT, name))


def test_a_right_server_has_no_fault() -> None:
    assert fault_of(right) is None


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
    reported = fault_of(wrong)
    assert reported is not None
    assert reported.startswith("workload route, ")
    assert fault in reported


def test_an_answer_that_did_not_wait_is_wrong() -> None:
    reported = fault_of(lambda line: (200, "waited"), "wait")
    assert reported is not None
    assert "expected the answer after 9 ms" in reported


class GrowingHost(FakeHost):
    """A host whose server keeps a part of each body, of the first `kept_max` ones."""

    def __init__(self, kept_bytes: int, kept_max: int) -> None:
        super().__init__()
        self._kept_bytes = kept_bytes
        self._kept_max = kept_max
        self.uploads = 0

    def usage(self, process: str) -> Usage:
        return Usage(0.0, min(self.uploads, self._kept_max) * self._kept_bytes, 0, 1, 1)

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        self.uploads += 1
        body = payload.split(b"\r\n\r\n", 1)[1]
        answer = b"%d %08x" % (len(body), zlib.crc32(body))
        return Exchange(
            b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer), closed=True
        )


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
