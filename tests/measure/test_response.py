import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deadheat.measure.response import Response, read_responses

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nHello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nHe\r\n3\r\nllo\r\n0\r\n\r\n"
TO_THE_END = b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nHello"


def responses(received: bytes, method: str = "GET") -> Sequence[Response]:
    return read_responses(received, method).responses


def test_reads_response_with_content_length() -> None:
    (response,) = responses(PLAIN)
    assert (response.version, response.status, response.body) == (11, 200, b"Hello")
    assert response.framing == "content-length"
    assert response.headers == {"content-type": "text/plain", "content-length": "5"}
    assert response.head_bytes == len(PLAIN) - len(b"Hello")


def test_reads_chunked_response() -> None:
    (response,) = responses(CHUNKED)
    assert (response.framing, response.body) == ("chunked", b"Hello")
    assert response.head_bytes == CHUNKED.index(b"2\r\n")


def test_reads_response_that_ends_with_its_connection() -> None:
    (response,) = responses(TO_THE_END)
    assert (response.version, response.framing, response.body) == (10, "close", b"Hello")


def test_reads_pipelined_responses_in_order() -> None:
    received = read_responses(CHUNKED + PLAIN + PLAIN.replace(b"Hello", b"Again"))
    assert [response.body for response in received.responses] == [b"Hello", b"Hello", b"Again"]


def test_skips_interim_responses() -> None:
    (response,) = responses(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN)
    assert response.status == 200


def test_response_to_head_has_no_body() -> None:
    empty = PLAIN.removesuffix(b"Hello")
    (response,) = responses(empty, "HEAD")
    assert (response.body, response.head_bytes) == (b"", len(empty))


def test_body_after_head_is_not_a_second_response() -> None:
    (response,) = responses(PLAIN, "HEAD")
    assert response.head_bytes < len(PLAIN)


def test_stops_at_malformed_data() -> None:
    assert len(responses(PLAIN + b"garbage\r\n\r\n" + PLAIN)) == 1


def test_bug_a_huge_length_ended_the_run_with_a_traceback() -> None:
    """OverflowError of the standard library's reader."""
    for length in (2**63, 2**64 - 1):
        received = read_responses(PLAIN.replace(b": 5", b": %d" % length))
        assert (received.responses, received.rest, received.is_malformed) == ([], "body", False)
    received = read_responses(CHUNKED.replace(b"\n2\r", b"\nFFFFFFFFFFFFFFFF\r"))
    assert (received.responses, received.rest) == ([], "body")


def test_bug_an_interim_response_was_the_answer() -> None:
    (response,) = responses(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + PLAIN)
    assert (response.status, response.body) == (200, b"Hello")


def test_bug_an_answer_with_101_header_lines_was_refused() -> None:
    (response,) = responses(PLAIN.replace(b"OK\r\n", b"OK\r\n" + b"X: y\r\n" * 101))
    assert response.body == b"Hello"


def test_body_without_an_end_is_complete_only_when_the_connection_is_closed() -> None:
    assert read_responses(TO_THE_END, closed=False).rest == "body"


TABLE = Path(__file__).parents[2] / "engine" / "tests" / "responses.json"
CASES: list[dict[str, Any]] = json.loads(TABLE.read_text())


def bytes_of(parts: str | list[Any]) -> bytes:
    """Characters stand for bytes; a pair is a text and how often it is repeated."""
    pieces = [parts] if isinstance(parts, str) else parts
    texts = [piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces]
    return "".join(texts).encode("latin-1")


def row(response: Response) -> dict[str, Any]:
    return {"status": response.status, "body": response.body.decode("latin-1")}


@pytest.mark.parametrize("closed", [False, True])
def test_reads_what_the_load_engine_reads(closed: bool) -> None:
    for case in CASES:
        method = "HEAD" if case.get("to_head_request") else "GET"
        received = read_responses(bytes_of(case["bytes"]), method, closed)
        responses, rest = case["responses"], case["rest"]
        if closed and "at_close" in case:
            responses, rest = [*responses, case["at_close"]], "nothing"
        assert [row(response) for response in received.responses] == responses, case["name"]
        assert received.rest == rest, case["name"]
