"""HTTP responses out of raw bytes, read by the standard library's own parser."""

import http.client
import io
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """One response as it came. `framing` is how its end was told."""

    version: int  # 10, 11
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    head_bytes: int
    framing: str  # content-length, chunked, close


class _Bytes(io.BytesIO):
    """Bytes that stand for a socket; they outlive the response that read them."""

    def makefile(self, *_: object, **__: object) -> "_Bytes":
        return self

    def close(self) -> None:
        pass


def read_responses(received: bytes, method: str = "GET") -> list[Response]:
    """The whole responses that `received` holds, in order; what is cut off or garbled ends them."""
    stream = _Bytes(received)
    responses: list[Response] = []
    while stream.tell() < len(received):
        begun = stream.tell()
        response = http.client.HTTPResponse(stream, method=method)  # type: ignore[arg-type]
        try:
            response.begin()
            head_bytes = stream.tell() - begun
            framing = _framing(response)
            body = response.read()
        except (http.client.HTTPException, ValueError):
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
