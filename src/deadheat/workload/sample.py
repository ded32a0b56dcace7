"""`Sample`: one request of a workload, and the answer that it must get."""

from dataclasses import dataclass

SHOWN_BYTES = 60
HOST_HEADER = "localhost"


@dataclass(frozen=True, slots=True)
class Sample:
    """A request without placeholders. What is None of the answer is not checked."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    status: int = 200
    media_type: str | None = None
    expected_body: bytes | None = None
    after_ms: float = 0  # the answer does not come earlier

    def payload(self, *more: str) -> bytes:
        """The bytes of the request, with `more` header lines."""
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {HOST_HEADER}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, *more, "", ""]).encode() + self.body

    def fault(self, status: int, media_type: str, body: bytes) -> str | None:
        """What is wrong with an answer; None if it is right."""
        if status != self.status:
            return f"expected status {self.status}, got {status}"
        received = media_type.split(";")[0].strip().lower()
        if self.media_type is not None and received != self.media_type.lower():
            return f"expected media type {self.media_type}, got {received or 'none'}"
        if self.expected_body is not None and body != self.expected_body:
            return f"expected the body {_shown(self.expected_body)}, got {_shown(body)}"
        return None


def _shown(body: bytes) -> str:
    text = repr(body[:SHOWN_BYTES].decode(errors="replace"))
    return text if len(body) <= SHOWN_BYTES else f"{text}... ({len(body):,} bytes)"
