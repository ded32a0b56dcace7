"""`Sample`: one request of a workload, and the answer that it must get."""

from dataclasses import dataclass

from deadheat.workload.html import canonical
from deadheat.workload.json_value import is_same_json

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
    expected_json: str | None = None  # in any spelling
    expected_html: str | None = None  # up to escapes
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
        return self._spelling_fault(body)

    @property
    def shown_body(self) -> bytes | None:
        """One right body; None if any is right."""
        for text in (self.expected_json, self.expected_html):
            if text is not None:
                return text.encode()
        return self.expected_body

    def _spelling_fault(self, body: bytes) -> str | None:
        text = body.decode(errors="replace")
        if self.expected_json is not None and not is_same_json(text, self.expected_json):
            return f"expected the JSON {_shown(self.expected_json.encode())}, got {_shown(body)}"
        if self.expected_html is None or canonical(text) == canonical(self.expected_html):
            return None
        wanted, got = _first_difference(canonical(self.expected_html), canonical(text))
        return f"expected the HTML {wanted!r}, got {got!r} ({len(body):,} bytes)"


def _first_difference(wanted: str, got: str) -> tuple[str, str]:
    """Where two texts begin to differ, with a little before it."""
    pairs = enumerate(zip(wanted, got, strict=False))
    same = next((n for n, pair in pairs if pair[0] != pair[1]), min(len(wanted), len(got)))
    begin = max(0, same - SHOWN_BYTES // 3)
    return wanted[begin : begin + SHOWN_BYTES], got[begin : begin + SHOWN_BYTES]


def _shown(body: bytes) -> str:
    text = repr(body[:SHOWN_BYTES].decode(errors="replace"))
    return text if len(body) <= SHOWN_BYTES else f"{text}... ({len(body):,} bytes)"
