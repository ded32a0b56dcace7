"""Reads a chunked body (RFC 9112, section 7.1), as strictly as the load engine."""

from deadheat.measure.response_reader import Malformed, Reader

SIZE_DIGITS_MAX = 16
EXTRA_BYTES_MAX = 65_536  # of all chunk extensions and trailers together
HEX_DIGITS = b"0123456789abcdefABCDEF"


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
        while not reader.ends_line(reader.byte(), "trailer"):
            self._count_extra()
            while reader.byte() != 0x0A:
                self._count_extra()
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

    def _count_extra(self) -> None:
        self._extra_bytes += 1
        if self._extra_bytes > EXTRA_BYTES_MAX:
            raise Malformed("trailer")
