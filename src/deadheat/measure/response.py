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


class Malformed(Exception):
    """The bytes are no HTTP response; `kind` is the load engine's name of the fault."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Incomplete(Exception):
    """The bytes end too early; `part` is `head` or `body`."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


class Reader:
    """A position in received bytes."""

    def __init__(self, received: bytes) -> None:
        self.received = received
        self.at = 0
        self.head_at: int | None = None  # where the head began that is being read

    @property
    def left(self) -> int:
        return len(self.received) - self.at

    def peek(self) -> int:
        if self.head_at is not None and self.at - self.head_at == HEAD_BYTES_MAX:
            raise Malformed("head_too_long")
        if not self.left:
            raise Incomplete("body" if self.head_at is None else "head")
        return self.received[self.at]

    def byte(self) -> int:
        byte = self.peek()
        self.at += 1
        return byte

    def take(self, size_bytes: int) -> bytes:
        """The next bytes of a body."""
        if size_bytes > self.left:
            raise Incomplete("body")
        self.at += size_bytes
        return self.received[self.at - size_bytes : self.at]

    def ends_line(self, byte: int, kind: str) -> bool:
        """Whether `byte` begins a line end, LF or CR LF, whose rest is then read."""
        if byte == 0x0D and self.byte() != 0x0A:
            raise Malformed(kind)
        return byte in b"\r\n"


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
    reader.head_at = reader.at
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
    reader.head_at = None
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
    media_type: bytes | None = None
    for name, value in fields:
        if name == b"content-type":
            named = value.split(b";")[0].strip(BLANK).lower()
            if media_type not in (None, named):
                raise Malformed("type_conflict")
            media_type = named
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


class Chunks:
    """The chunks of one body."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._extra_bytes = 0

    def body(self) -> bytes:
        """The joined chunks. Raises `Malformed` or `Incomplete`."""
        reader, body = self._reader, bytearray()
        while (size_bytes := self._size_bytes()) > 0:
            body += reader.take(size_bytes)
            if not reader.ends_line(reader.byte(), "chunk_end"):
                raise Malformed("chunk_end")
        while not reader.ends_line(byte := reader.byte(), "trailer"):
            self._trailer(byte)
        return bytes(body)

    def _size_bytes(self) -> int:
        """Digits, then nothing, or a blank or semicolon and anything up to the line end."""
        reader, digits = self._reader, b""
        while (byte := reader.byte()) in HEX_DIGITS:
            digits += bytes([byte])
            if len(digits) > SIZE_DIGITS_MAX:
                raise Malformed("chunk_size")
        if not digits:
            raise Malformed("chunk_size")
        if not reader.ends_line(byte, "chunk_size"):
            if byte not in b"; \t":
                raise Malformed("chunk_size")
            while not reader.ends_line(reader.byte(), "chunk_size"):
                self._count_extra()
        return int(digits, 16)

    def _trailer(self, first: int) -> None:
        """The rest of a trailer line: a name with a colon, or the line before continued."""
        if first == 0x3A:
            raise Malformed("trailer")
        self._count_extra()
        has_name = first in b" \t"
        while (byte := self._reader.byte()) != 0x0A:
            self._count_extra()
            has_name = has_name or byte == 0x3A
        if not has_name:
            raise Malformed("trailer")

    def _count_extra(self) -> None:
        self._extra_bytes += 1
        if self._extra_bytes > EXTRA_BYTES_MAX:
            raise Malformed("trailer")


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
