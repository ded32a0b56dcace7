"""Reads HTTP responses from raw bytes by the rules of the load engine (RFC 9112).

`engine/tests/responses.json` tests both: what one takes for an answer the other does too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEAD_BYTES_MAX = 65_536
HEADERS_MAX = 256
LENGTH_MAX = (1 << 64) - 1
BLANK = b" \t\n\x0c\r"
NAME_BYTES = frozenset(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~"
)
SIZE_DIGITS_MAX = 16
EXTRA_BYTES_MAX = 65_536  # of all chunk extensions and trailers together
HEX_DIGITS = b"0123456789abcdefABCDEF"


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response. `framing` is how it marked its end."""

    status: int
    headers: Mapping[str, str]  # names in lower case; the last of several values
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


class Unreadable(Exception):
    """The bytes end too early or are no HTTP response; its text is the `rest` of `Received`."""


class Reader:
    """A position in received bytes."""

    def __init__(self, received: bytes) -> None:
        self.received = received
        self.at = 0
        self.head_at: int | None = None  # where the head began that is being read
        self.extra_bytes = 0  # of the chunk extensions and trailers of one body

    @property
    def left(self) -> int:
        return len(self.received) - self.at

    def peek(self) -> int:
        if self.head_at is not None and self.at - self.head_at == HEAD_BYTES_MAX:
            raise Unreadable("head_too_long")
        if not self.left:
            raise Unreadable("body" if self.head_at is None else "head")
        return self.received[self.at]

    def byte(self) -> int:
        byte = self.peek()
        self.at += 1
        return byte

    def take(self, size_bytes: int) -> bytes:
        """The next bytes of a body."""
        if size_bytes > self.left:
            raise Unreadable("body")
        self.at += size_bytes
        return self.received[self.at - size_bytes : self.at]

    def ends_line(self, byte: int, kind: str) -> bool:
        """Whether `byte` begins a line end, LF or CR LF, whose rest is then read."""
        if byte == 0x0D and self.byte() != 0x0A:
            raise Unreadable(kind)
        return byte in b"\r\n"


def _head(reader: Reader) -> tuple[int, int, list[tuple[bytes, bytes]]]:
    """The version, the status and the header fields, of which names may occur twice."""
    reader.head_at = reader.at
    while reader.peek() in b"\r\n":
        reader.ends_line(reader.byte(), "line_end")
    version, status = _status_line(reader)
    fields: list[tuple[bytes, bytes]] = []
    while (field := _field(reader)) is not None:
        if len(fields) == HEADERS_MAX:
            raise Unreadable("too_many_headers")
        fields.append(field)
    if status < 100:
        raise Unreadable("status_line")
    reader.head_at = None
    return version, status, fields


def _status_line(reader: Reader) -> tuple[int, int]:
    for wanted in b"HTTP/1.":
        if reader.byte() != wanted:
            raise Unreadable("status_line")
    if (minor := reader.byte()) not in b"01":
        raise Unreadable("status_line")
    if reader.byte() != 0x20:
        raise Unreadable("status_line")
    status = 0
    for _ in range(3):
        if (digit := reader.byte()) not in b"0123456789":
            raise Unreadable("status_line")
        status = 10 * status + digit - 0x30
    after = reader.byte()
    if not reader.ends_line(after, "status_line"):
        if after != 0x20:
            raise Unreadable("status_line")
        _text(reader, "status_line")
    return 10 + minor - 0x30, status


def _text(reader: Reader, kind: str) -> bytes:
    """The rest of a line, which may not contain control characters."""
    text = bytearray()
    while not reader.ends_line(byte := reader.byte(), kind):
        if byte != 0x09 and (byte < 0x20 or byte == 0x7F):
            raise Unreadable(kind)
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
            raise Unreadable("header_name")
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
    media_type: bytes | None = None
    for name, value in fields:
        if name == b"content-type":
            named = value.split(b";")[0].strip(BLANK).lower()
            if media_type not in (None, named):
                raise Unreadable("type_conflict")
            media_type = named
        for element in (part.strip(BLANK) for part in value.split(b",")):
            if name == b"content-length":
                value_bytes = _decimal(element)
                if length not in (None, value_bytes):
                    raise Unreadable("length_conflict")
                length = value_bytes
            elif name == b"transfer-encoding":
                if codings and codings[-1] == b"chunked":
                    raise Unreadable("bad_encoding")
                codings.append(element.lower())
    if codings and length is not None:
        raise Unreadable("length_and_encoding")
    if codings and version == 10:
        raise Unreadable("bad_encoding")
    if to_head_request or status < 200 or status in (204, 304):
        return "none", 0
    if codings:
        return ("chunked" if codings[-1] == b"chunked" else "close"), 0
    return ("close", 0) if length is None else ("content-length", length)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits.lstrip(b"0")) > len(str(LENGTH_MAX)):
        raise Unreadable("bad_length")
    number = int(digits.lstrip(b"0") or b"0")
    if number > LENGTH_MAX:
        raise Unreadable("bad_length")
    return number


def _chunks(reader: Reader) -> bytes:
    """The joined chunks of a body."""
    reader.extra_bytes = 0
    body = bytearray()
    while (size_bytes := _chunk_bytes(reader)) > 0:
        body += reader.take(size_bytes)
        if not reader.ends_line(reader.byte(), "chunk_end"):
            raise Unreadable("chunk_end")
    while not reader.ends_line(byte := reader.byte(), "trailer"):
        _trailer(reader, byte)
    return bytes(body)


def _chunk_bytes(reader: Reader) -> int:
    """Digits, then nothing, or a blank or semicolon and anything up to the line end."""
    digits = b""
    while (byte := reader.byte()) in HEX_DIGITS:
        digits += bytes([byte])
        if len(digits) > SIZE_DIGITS_MAX:
            raise Unreadable("chunk_size")
    if not digits:
        raise Unreadable("chunk_size")
    if not reader.ends_line(byte, "chunk_size"):
        if byte not in b"; \t":
            raise Unreadable("chunk_size")
        while not reader.ends_line(reader.byte(), "chunk_size"):
            _count_extra(reader)
    return int(digits, 16)


def _trailer(reader: Reader, first: int) -> None:
    """The rest of a trailer line: a name with a colon, or the line before continued."""
    if first == 0x3A:
        raise Unreadable("trailer")
    _count_extra(reader)
    has_name = first in b" \t"
    while (byte := reader.byte()) != 0x0A:
        _count_extra(reader)
        has_name = has_name or byte == 0x3A
    if not has_name:
        raise Unreadable("trailer")


def _count_extra(reader: Reader) -> None:
    reader.extra_bytes += 1
    if reader.extra_bytes > EXTRA_BYTES_MAX:
        raise Unreadable("trailer")


def read_responses(received: bytes, method: str = "GET", closed: bool = True) -> Received:
    """Read until the bytes end or are malformed.

    A body that lasts until the close is complete only if the connection was `closed`.
    """
    reader = Reader(received)
    responses: list[Response] = []
    try:
        while reader.left:
            responses.append(_response(reader, method == "HEAD", closed))
    except Unreadable as error:
        return Received(responses, str(error))
    return Received(responses, "nothing")


def _response(reader: Reader, to_head_request: bool, closed: bool) -> Response:
    """One response; interim responses before it are skipped, and 101 is none of these."""
    status = 100
    while status < 200 and status != 101:
        begin = reader.at
        version, status, fields = _head(reader)
        framing, body_bytes = _framing(fields, version, status, to_head_request)
    head_bytes = reader.at - begin
    if framing == "close" and not closed:
        raise Unreadable("body")
    if framing == "chunked":
        body = _chunks(reader)
    else:
        body = reader.take(reader.left if framing == "close" else body_bytes)
    headers = {name.decode(): value.decode("latin-1") for name, value in fields}
    return Response(status, headers, body, head_bytes, framing)
