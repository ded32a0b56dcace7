"""Reads the bytes of a response one by one, within the limit of a head."""

HEAD_BYTES_MAX = 65_536


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
        self._head_at: int | None = None

    @property
    def left(self) -> int:
        return len(self.received) - self.at

    def begin_head(self) -> None:
        self._head_at = self.at

    def end_head(self) -> None:
        self._head_at = None

    def peek(self) -> int:
        if self._head_at is not None and self.at - self._head_at == HEAD_BYTES_MAX:
            raise Malformed("head_too_long")
        if not self.left:
            raise Incomplete("body" if self._head_at is None else "head")
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
