"""Reads HTTP responses from raw bytes by the rules of the load engine.

`engine/tests/responses.json` tests both: what one takes for an answer the other does too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deadheat.measure.response_chunks import Chunks
from deadheat.measure.response_head import Head, read_head
from deadheat.measure.response_reader import Incomplete, Malformed, Reader


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response. `framing` is how it marked its end."""

    version: int  # 10, 11
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    head_bytes: int
    framing: str  # none, content-length, chunked, close


@dataclass(frozen=True, slots=True)
class Received:
    """The complete responses of a connection, in order, and what followed them.

    `rest` is `nothing`, an incomplete `head` or `body`, or the engine's name of what was malformed.
    """

    responses: Sequence[Response]
    rest: str

    @property
    def is_malformed(self) -> bool:
        return self.rest not in ("nothing", "head", "body")


def read_responses(received: bytes, method: str = "GET", closed: bool = True) -> Received:
    """Read until the bytes end or are malformed.

    A body that lasts until the close is complete only if the connection was `closed`.
    """
    reader = Reader(received)
    responses: list[Response] = []
    try:
        while reader.left:
            responses.append(_response(reader, method == "HEAD", closed))
    except Incomplete as error:
        return Received(responses, error.part)
    except Malformed as error:
        return Received(responses, error.kind)
    return Received(responses, "nothing")


def _response(reader: Reader, to_head_request: bool, closed: bool) -> Response:
    """One response; interim responses before it are skipped."""
    begin = reader.at
    while (head := read_head(reader, to_head_request)).is_interim:
        begin = reader.at
    head_bytes = reader.at - begin
    body = _body(reader, head, closed)
    return Response(head.version, head.status, head.headers, body, head_bytes, head.framing)


def _body(reader: Reader, head: Head, closed: bool) -> bytes:
    if head.framing == "chunked":
        return Chunks(reader).body()
    if head.framing == "close":
        if not closed:
            raise Incomplete("body")
        return reader.take(reader.left)
    return reader.take(head.body_bytes)
