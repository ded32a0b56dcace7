"""Parses HTTP responses from raw bytes with the standard library."""

import http.client
import io
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response. `framing` is how it marked its end."""

    version: int  # 10, 11
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    head_bytes: int
    framing: str  # content-length, chunked, close


class _Bytes(io.BytesIO):
    """Bytes that act as a socket; closing the response does not close them."""

    def makefile(self, *_: object, **__: object) -> "_Bytes":
        return self

    def close(self) -> None:
        pass


def read_responses(received: bytes, method: str = "GET") -> list[Response]:
    """The complete responses in `received`, in order, up to one that is cut off or malformed."""
    stream = _Bytes(received)
    responses: list[Response] = []
    while stream.tell() < len(received):
        begin = stream.tell()
        response = http.client.HTTPResponse(stream, method=method)  # type: ignore[arg-type]
        try:
            response.begin()
            head_bytes = stream.tell() - begin
            framing = _framing(response)
            body = response.read()
        except (http.client.HTTPException, ValueError, OverflowError):
            break
        headers = {name.lower(): value for name, value in response.getheaders()}
        responses.append(
            Response(response.version, response.status, headers, body, head_bytes, framing)
        )
    return responses


def _framing(response: http.client.HTTPResponse) -> str:
    if response.chunked:
        return "chunked"
    return "content-length" if response.length is not None else "close"
