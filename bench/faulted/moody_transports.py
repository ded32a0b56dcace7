"""A server that misbehaves over TLS or HTTP/2, with one thread for each connection:

    moody_transports.py MODE TRANSPORT MARK HOST PORT [CERT KEY [CERT KEY]]

`bench/faulted/modes.py` has what a race has to say about each mode. All answer right until they
have been under load for `LATER_S`; then they make the file MARK. New connections then get the
second certificate, if there is one.
"""

import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.faulted import moody

SWITCHES = 60  # from one connection to another: those of a verification come one after the other
LATER_S = 0.5
DRAIN_S = 5.0
NOW_AND_THEN = 50  # answers on a connection
FLOOD = 20_000  # frames
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END, ACK, WHOLE, PADDED = 1, 1, 4, 8  # flags; WHOLE: the end of a header block
STREAMS, STREAM_WINDOW, FRAME_BYTES = 3, 4, 5  # settings


class Served(moody.Served):
    """Calm until `LATER_S` of load."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self._mark = mark
        self._loaded_s: float | None = None
        self._is_late = False
        self._last: object = None
        self._switches = 0

    def note(self, connection: object) -> None:
        """A request came on this connection."""
        if connection is not self._last:
            self._last = connection
            self._switches += 1

    @property
    def calm(self) -> bool:
        if self._is_late or self._switches < SWITCHES:
            return not self._is_late
        if self._loaded_s is None:
            self._loaded_s = time.monotonic()
        if time.monotonic() - self._loaded_s > LATER_S:
            self._is_late = True
            self._mark.touch()
        return not self._is_late


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + payload


def field(name: bytes, value: bytes) -> bytes:
    """A field that changes no table (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def setting(name: int, value: int) -> bytes:
    return frame(SETTINGS, 0, 0, name.to_bytes(2, "big") + number(value))


TYPE = field(b"content-type", b"text/plain")
FIELDS = b"\x88" + TYPE + field(b"content-length", b"%d" % len(moody.BODY))  # \x88: status 200


def head(stream: int, block: bytes = FIELDS, flags: int = WHOLE) -> bytes:
    return frame(HEADERS, flags, stream, block)


def body(stream: int, content: bytes = moody.BODY, flags: int = END) -> bytes:
    return frame(DATA, flags, stream, content)


def right(stream: int) -> bytes:
    return head(stream) + body(stream)


def goaway(last: int, code: int = 0) -> bytes:
    return frame(GOAWAY, 0, 0, number(last) + number(code))


def as_frames(stream: int, answer: bytes) -> bytes:
    """An answer in HTTP/1.1 as one in HTTP/2."""
    top, _, content = answer.partition(b"\r\n\r\n")
    status, *lines = top.split(b"\r\n")
    pairs = [line.partition(b": ") for line in lines]
    block = field(b":status", status.split()[1])
    block += b"".join(field(name.lower(), value) for name, _, value in pairs)
    if not content:
        return head(stream, block, WHOLE | END)
    return head(stream, block) + body(stream, content)


PADDING = bytes(5)
INTERIM = field(b":status", b"103")
ADDED = b"\x88\x40\x0ccontent-type\x0atext/plain" + field(b"content-length", b"13")
FRAMES: dict[str, Callable[[int], bytes]] = {
    # What a server may do.
    "padding and CONTINUATION": lambda s: (
        head(s, b"\x05" + FIELDS[:1] + PADDING, PADDED)
        + frame(CONTINUATION, WHOLE, s, FIELDS[1:])
        + body(s, b"\x05" + moody.BODY + PADDING, PADDED | END)
    ),
    "interim responses": lambda s: head(s, INTERIM) + right(s),
    "trailers": lambda s: head(s) + body(s, flags=0) + head(s, field(b"x-a", b"b"), WHOLE | END),
    "fields in the table": lambda s: head(s, ADDED) + body(s),
    "PING with each answer": lambda s: frame(PING, 0, 0, bytes(8)) + right(s),
    "SETTINGS with each answer": lambda s: setting(STREAMS, 100) + right(s),
    "no window for bodies": lambda s: setting(STREAM_WINDOW, 0) + right(s),
    "unknown frames": lambda s: frame(0xFE, 0xFF, s, PADDING) + right(s),
    "PRIORITY frames": lambda s: frame(PRIORITY, 0, s, bytes(5)) + right(s),
    # What it may not do, or what no load survives.
    "SETTINGS that shrink": lambda s: setting(STREAMS, 1) + right(s),
    "no streams any more": lambda s: setting(STREAMS, 0) + right(s),
    "streams that never end": lambda s: head(s) + body(s, flags=0),
    "resets every stream": lambda s: frame(RESET, 0, s, number(2)),
    "refuses every stream": lambda s: frame(RESET, 0, s, number(7)),
    "resets after the head": lambda s: head(s) + frame(RESET, 0, s, number(8)),
    "GOAWAY with an error": lambda s: goaway(s, 2),
    "returns every request": lambda _: goaway(0),
    "cut answers later": lambda s: head(s) + body(s, moody.BODY[:5], 0),
    "two answers later": lambda s: 2 * right(s),
    "data after the end": lambda s: right(s) + body(s),
    "body without a head": body,
    "no status": lambda s: head(s, TYPE, WHOLE | END),
    "names in upper case": lambda s: head(s, FIELDS + field(b"X-A", b"b")) + body(s),
    "field of a connection": lambda s: head(s, FIELDS + field(b"connection", b"close")) + body(s),
    "wrong content-length": lambda s: head(s) + body(s, moody.BODY[1:]),
    "endless CONTINUATION": lambda s: (
        head(s, b"\x88", 0) + 9 * frame(CONTINUATION, 0, s, 60 * field(b"x" * 100, b"y" * 100))
    ),
    "bad HPACK": lambda s: head(s, b"\x80", WHOLE | END),
    "interrupted head": lambda s: head(s, FIELDS, 0) + body(s),
    "interim flood": lambda s: FLOOD * head(s, INTERIM),
    "PING flood": lambda _: FLOOD * frame(PING, 0, 0, bytes(8)),
    "SETTINGS flood": lambda _: FLOOD * frame(SETTINGS, 0, 0),
    "empty DATA flood": lambda s: head(s) + FLOOD * body(s, b"", 0),
    "window that grows by 0": lambda s: frame(WINDOW, 0, 0, number(0)) + right(s),
    "window that is too large": lambda s: 2 * frame(WINDOW, 0, 0, number(2**31 - 1)) + right(s),
    "frame that is too long": lambda s: head(s) + body(s, bytes(20_000)),
    "PUSH_PROMISE": lambda s: frame(PUSH, WHOLE, s, number(2) + b"\x82\x84\x86") + right(s),
    "answer on an even stream": lambda s: right(s + 1),
    "answer to no request": lambda s: right(s + 1000),
    "padding longer than its frame": lambda s: head(s) + body(s, b"\xff", PADDED | END),
    "forbidden setting": lambda s: setting(FRAME_BYTES, 1) + right(s),
    "SETTINGS of five bytes": lambda s: frame(SETTINGS, 0, 0, bytes(5)) + right(s),
    "HTTP/1.1 in the middle": lambda _: moody.RIGHT,
    "noise": lambda _: b"\xff" * 64,
}
ENDS = {"GOAWAY with an error", "returns every request", "cut answers later"}  # the connection too
OWN = {  # modes with code of their own below
    "GOAWAY now and then",
    "GOAWAY that returns requests",
    "noise in TLS",
}
HANDSHAKES = {  # modes that change what new connections get
    *("plain HTTP on the port", "handshake that never ends", "closes in the handshake"),
    *("TLS 1.1 alone", "wants a certificate", "other protocol by ALPN", "TLS on the port"),
    *("HTTP/1.1 again", "another certificate"),
}
ALWAYS = {"TLS 1.2 alone", "no close_notify", "one byte at a time"}  # from the beginning on


class Connection:
    """What one client sends, and its answers."""

    def __init__(self, raw: socket.socket, mode: str, transport: str, served: Served) -> None:
        self._raw = self._socket = raw
        self._mode, self._transport, self._served = mode, transport, served
        self._began_calm = served.calm
        self._answers = 0

    def converse(self, files: list[str]) -> None:
        changed = self._mode in HANDSHAKES and not self._began_calm
        try:
            self._raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if changed and self._answer_handshake():
                return
            if self._transport != "h2c":
                context = self._context(files, changed)
                self._socket = context.wrap_socket(self._raw, server_side=True)
            if self._transport == "https" or (changed and self._mode == "other protocol by ALPN"):
                self._speak_http_1()
            else:
                self._speak_http_2()
        except (OSError, EOFError):
            pass  # the client has gone, or wants none of it
        finally:
            self._socket.close()

    def _answer_handshake(self) -> bool:
        """What comes instead of it; False if it is as usual."""
        if self._mode == "handshake that never ends":
            time.sleep(600)
        if self._mode == "plain HTTP on the port" or self._mode == "HTTP/1.1 again":
            self._raw.recv(65536)
            self._raw.sendall(moody.answer(b"HTTP/1.1 only", b"400 Bad Request"))
        elif self._mode == "TLS on the port":
            self._raw.recv(65536)
            self._raw.sendall(b"\x15\x03\x01\x00\x02\x02\x46")  # an alert: protocol_version
        elif self._mode != "closes in the handshake":
            return False
        return True

    def _context(self, files: list[str], changed: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cert, key = files[2:] if changed and files[2:] else files[:2]
        context.load_cert_chain(cert, key)
        other = changed and self._mode == "other protocol by ALPN"
        context.set_alpn_protocols(["h2" if self._transport == "h2" and not other else "http/1.1"])
        if self._mode == "TLS 1.2 alone":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if changed and self._mode == "TLS 1.1 alone":
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        if changed and self._mode == "wants a certificate":
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _speak_http_1(self) -> None:
        received = bytearray()
        while moody.take(self._socket, received, self._react, self._served):
            pass

    def _react(self, served: moody.Served, connection: socket.socket) -> bytes | None:
        self._served.note(self)
        if self._mode == "no close_notify" or (self._leaves() and not served.calm):
            connection.sendall(moody.CLOSING)
            return b""
        if served.calm or self._mode in HANDSHAKES | ALWAYS:
            return moody.RIGHT
        if self._mode == "noise in TLS":
            self._send_noise()
            return None
        if self._mode == "HTTP/2 unasked":
            return setting(STREAMS, 100) + right(1)
        return moody.MODES[self._mode](served, connection)

    def _leaves(self) -> bool:
        """The client has to connect anew, and learns it before it sends."""
        return self._mode in HANDSHAKES and self._began_calm

    def _send_noise(self) -> None:
        os.write(self._socket.fileno(), NOISE)

    def _speak_http_2(self) -> None:
        self._read(24)  # the preface
        self._socket.sendall(setting(STREAMS, 100))
        while True:
            top = self._read(9)
            kind, flags, stream = top[3], top[4], int.from_bytes(top[5:], "big")
            payload = self._read(int.from_bytes(top[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                self._socket.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self._socket.sendall(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                self._served.requests += 1
                self._served.note(self)
                self._answers += 1
                if not self._answer(stream):
                    return

    def _answer(self, stream: int) -> bool:
        """Answer a request; False if the connection is to be closed."""
        served, mode = self._served, self._mode
        if mode == "one byte at a time":
            for byte in right(stream):
                self._socket.sendall(bytes([byte]))
            return True
        if served.calm or mode == "TLS 1.2 alone" or (mode in HANDSHAKES and not self._began_calm):
            self._socket.sendall(right(stream))
        elif self._leaves():
            return self._go(right(stream) + goaway(stream))
        elif mode == "noise in TLS":
            self._send_noise()
        elif mode.startswith("GOAWAY ") and mode in OWN:
            if self._answers % NOW_AND_THEN == 0:
                returns = mode == "GOAWAY that returns requests"
                return self._go(goaway(stream - 2) if returns else right(stream) + goaway(stream))
            self._socket.sendall(right(stream))
        elif mode in FRAMES:
            self._socket.sendall(FRAMES[mode](stream))
            return mode not in ENDS
        else:
            said = moody.MODES[mode](served, self._socket)
            if said:
                self._socket.sendall(as_frames(stream, said))
            return said != b""
        return True

    def _go(self, last: bytes) -> bool:
        """Say the last, and take what the client has sent before it knew: a close would reset."""
        self._socket.sendall(last)
        self._socket.settimeout(DRAIN_S)
        while self._socket.recv(65536):
            pass
        return False

    def _read(self, size_bytes: int) -> bytes:
        content = b""
        while len(content) < size_bytes:
            piece = self._socket.recv(size_bytes - len(content))
            if not piece:
                raise EOFError
            content += piece
        return content


NOISE = b"\x17\x03\x03\x00\x20" + bytes(32)  # a record that was not sealed with the key


def main() -> None:
    mode, transport, mark, host, port, *files = sys.argv[1:]
    served = Served(Path(mark))
    listener = socket.create_server((host, int(port)), backlog=1024)
    while True:
        connection = Connection(listener.accept()[0], mode, transport, served)
        threading.Thread(target=connection.converse, args=[files], daemon=True).start()
