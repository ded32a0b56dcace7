"""Responses from raw bytes; what the engine reads alike is in `engine/tests/responses.json`."""

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
    assert (response.status, response.body) == (200, b"Hello")
    assert response.framing == "content-length"
    assert response.headers == {"content-type": "text/plain", "content-length": "5"}
    assert response.head_bytes == len(PLAIN) - len(b"Hello")


def test_reads_chunked_response() -> None:
    (response,) = responses(CHUNKED)
    assert (response.framing, response.body) == ("chunked", b"Hello")
    assert response.head_bytes == CHUNKED.index(b"2\r\n")


def test_reads_response_that_ends_with_its_connection() -> None:
    (response,) = responses(TO_THE_END)
    assert (response.framing, response.body) == ("close", b"Hello")


def test_response_to_head_has_no_body() -> None:
    empty = PLAIN.removesuffix(b"Hello")
    (response,) = responses(empty, "HEAD")
    assert (response.body, response.head_bytes) == (b"", len(empty))


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
