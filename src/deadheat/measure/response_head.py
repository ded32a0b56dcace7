"""Reads the head of a response (RFC 9112, sections 2 to 6), as strictly as the load engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from deadheat.measure.response_reader import Malformed, Reader

HEADERS_MAX = 256
LENGTH_MAX = (1 << 64) - 1
BLANK = b" \t\n\x0c\r"
NAME_BYTES = frozenset(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~"
)


@dataclass(frozen=True, slots=True)
class Head:
    """A head and how its body ends: `none`, `content-length`, `chunked` or `close`."""

    version: int  # 10, 11
    status: int
    headers: Mapping[str, str]  # names in lower case; the last of several values
    framing: str
    body_bytes: int  # 0 unless the framing is `content-length`

    @property
    def is_interim(self) -> bool:
        """Whether the answer is still to come; 101 is an answer."""
        return self.status < 200 and self.status != 101


def read_head(reader: Reader, to_head_request: bool) -> Head:
    """Raises `Malformed` or `Incomplete`."""
    reader.begin_head()
    while reader.peek() in b"\r\n":
        reader.ends_line(reader.byte(), "line_end")
    version, status = _status_line(reader)
    fields: list[tuple[bytes, bytes]] = []
    while (field := _field(reader)) is not None:
        if len(fields) == HEADERS_MAX:
            raise Malformed("too_many_headers")
        fields.append(field)
    if status < 100:
        raise Malformed("status_line")
    framing, body_bytes = _framing(fields, version, status, to_head_request)
    reader.end_head()
    headers = {name.decode(): value.decode("latin-1") for name, value in fields}
    return Head(version, status, headers, framing, body_bytes)


def _status_line(reader: Reader) -> tuple[int, int]:
    for wanted in b"HTTP/1.":
        if reader.byte() != wanted:
            raise Malformed("status_line")
    if (minor := reader.byte()) not in b"01":
        raise Malformed("status_line")
    if reader.byte() != 0x20:
        raise Malformed("status_line")
    status = 0
    for _ in range(3):
        if (digit := reader.byte()) not in b"0123456789":
            raise Malformed("status_line")
        status = 10 * status + digit - 0x30
    after = reader.byte()
    if not reader.ends_line(after, "status_line"):
        if after != 0x20:
            raise Malformed("status_line")
        _text(reader, "status_line")
    return 10 + minor - 0x30, status


def _text(reader: Reader, kind: str) -> bytes:
    """The rest of a line, which may not contain control characters."""
    text = bytearray()
    while not reader.ends_line(byte := reader.byte(), kind):
        if byte != 0x09 and (byte < 0x20 or byte == 0x7F):
            raise Malformed(kind)
        text.append(byte)
    return bytes(text)


def _field(reader: Reader) -> tuple[bytes, bytes] | None:
    """The next name, in lower case, and value; None at the end of the head."""
    byte = reader.byte()
    if reader.ends_line(byte, "line_end"):
        return None
    name = bytearray()
    while byte != 0x3A or not name:
        if byte not in NAME_BYTES:
            raise Malformed("header_name")
        name.append(byte)
        byte = reader.byte()
    value = _text(reader, "header_value")
    while reader.peek() in b" \t":  # the line continues the value of the line before
        value += _text(reader, "header_value")
    return bytes(name).lower(), value.strip(BLANK)


def _framing(
    fields: list[tuple[bytes, bytes]], version: int, status: int, to_head_request: bool
) -> tuple[str, int]:
    """How the body ends, and its length. The first fault of the header lines is raised."""
    length: int | None = None
    codings: list[bytes] = []
    for name, value in fields:
        for element in (part.strip(BLANK) for part in value.split(b",")):
            if name == b"content-length":
                value_bytes = _decimal(element)
                if length not in (None, value_bytes):
                    raise Malformed("length_conflict")
                length = value_bytes
            elif name == b"transfer-encoding":
                if codings and codings[-1] == b"chunked":
                    raise Malformed("bad_encoding")
                codings.append(element.lower())
    if codings and length is not None:
        raise Malformed("length_and_encoding")
    if codings and version == 10:
        raise Malformed("bad_encoding")
    if to_head_request or status < 200 or status in (204, 304):
        return "none", 0
    if codings:
        return ("chunked" if codings[-1] == b"chunked" else "close"), 0
    return ("close", 0) if length is None else ("content-length", length)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits.lstrip(b"0")) > len(str(LENGTH_MAX)):
        raise Malformed("bad_length")
    number = int(digits.lstrip(b"0") or b"0")
    if number > LENGTH_MAX:
        raise Malformed("bad_length")
    return number
