"""`SampleRequest`: one request of a workload, and the answer that it must get, in any spelling.

HTML counts by the rules of the engine (`engine/src/workload/html.rs`).
"""

import json
import re
from dataclasses import dataclass
from typing import Any

_BETWEEN_TAGS = re.compile(r">\s+<")
_REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]{1,9})|#[xX]([0-9a-fA-F]{1,8}));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_ESCAPED = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
SHOWN_BYTES = 60
HOST_HEADER = "localhost"


def canonical(document: str) -> str:
    """The document with one spelling of each escape.

    A reference to `<`, `>` or `&` becomes `&lt;`, `&gt;` or `&amp;`, one to another character
    becomes that character, and white space between two tags goes. A literal `<`, `>` or `&` stays,
    so it never equals an escaped one.
    """
    return _REFERENCE.sub(_spelled, _BETWEEN_TAGS.sub("><", document.strip()))


def _spelled(reference: re.Match[str]) -> str:
    name, decimal, hexadecimal = reference.groups()
    if name is not None:
        character = _NAMED[name]
    else:
        number = int(decimal) if decimal is not None else int(hexadecimal, 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            return reference.group()
        character = chr(number)
    return _ESCAPED.get(character, character)


def is_same_json(text: str, other: str) -> bool:
    """Whether both are JSON of the same value: 1 and 1.0 are, true and 1 are not.

    The order of keys, white space and escapes do not count. A repeated key does.
    """
    try:
        return _same(_parse(text), _parse(other))
    except (ValueError, RecursionError):
        return False


def _parse(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object, parse_constant=_reject)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key occurs twice")
    return value


def _reject(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    is_logical = isinstance(value, bool), isinstance(other, bool)
    return is_logical[0] == is_logical[1] and bool(value == other)


@dataclass(frozen=True, slots=True)
class SampleRequest:
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
