"""The table of responses that this reader and the load engine (tests::responses) agree on."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.measure.response import Response, read_responses

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
