"""A server whose rate is known by construction, over HTTP/1.1 and HTTP/2, with TLS and without.

    paced_server.py ADDRESS PORT SERVICE_US [CERT KEY]

It serves one request after the other, and each takes SERVICE_US: the server spins until that has
passed since the last one ended, as bench/truth_server.c does. What TLS and this program need is a
part of that time, so they change no rate as long as they need less.
"""

import gc
import select
import socket
import ssl
import sys
import time
from contextlib import suppress

BODY = b"Hello, World!"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n" + BODY
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
PREFACE_BYTES = 24
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PATH_IS_ROOT = b"\x84"  # `:path: /` of the static table; no other byte of a block looks like it
OK = b"\x88\x0f\x10\x0atext/plain"
NOT_THERE = b"\x8d"


class Pace:
    """Ends one request after the other, `service_ns` apart."""

    def __init__(self, service_ns: int) -> None:
        self._service_ns = service_ns
        self._free_ns = 0

    def spin(self) -> None:
        now_ns = time.monotonic_ns()
        begin_ns = self._free_ns if now_ns < self._free_ns + self._service_ns else now_ns
        self._free_ns = begin_ns + self._service_ns
        while time.monotonic_ns() < self._free_ns:
            pass


class Connection:
    def __init__(self, stream: socket.socket, pace: Pace) -> None:
        self.stream = stream
        self._pace = pace
        self._input = b""
        self._is_open = not isinstance(stream, ssl.SSLSocket)
        self._is_http2 = False
        self._has_preface = False

    def ready(self) -> bool:
        """Serves what has arrived; false at the end of the connection."""
        try:
            if not self._is_open:
                self._shake_hands()
            while received := self.stream.recv(65536):
                self._input += received
                self._serve()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except OSError:
            pass
        return False

    def _shake_hands(self) -> None:
        assert isinstance(self.stream, ssl.SSLSocket)
        self.stream.do_handshake()
        self._is_open = True
        self._is_http2 = self.stream.selected_alpn_protocol() == "h2"

    def _serve(self) -> None:
        if self._is_http2:
            self._serve_frames()
            return
        while b"\r\n\r\n" in self._input:
            head, _, self._input = self._input.partition(b"\r\n\r\n")
            is_hello = head.startswith(b"GET / ")
            if is_hello:
                self._pace.spin()
            self.stream.sendall(HELLO if is_hello else NOT_FOUND)

    def _serve_frames(self) -> None:
        if not self._has_preface and len(self._input) >= PREFACE_BYTES:
            self._input = self._input[PREFACE_BYTES:]
            self._has_preface = True
            self.stream.sendall(frame(SETTINGS, 0, 0))
        while self._has_preface and len(self._input) >= 9:
            end = 9 + int.from_bytes(self._input[:3], "big")
            if len(self._input) < end:
                return
            kind, flags = self._input[3:5]
            stream, payload = int.from_bytes(self._input[5:9], "big"), self._input[9:end]
            self._input = self._input[end:]
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.stream.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind == HEADERS and PATH_IS_ROOT in payload:
                self._pace.spin()
                answer = frame(HEADERS, END_HEADERS, stream, OK)
                self.stream.sendall(answer + frame(DATA, END_STREAM, stream, BODY))
            elif kind == HEADERS:
                self.stream.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, NOT_THERE))


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags))
    return head + stream.to_bytes(4, "big") + payload


def serve(listener: socket.socket, pace: Pace, tls: ssl.SSLContext | None) -> None:
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    connections: dict[int, Connection] = {}
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == listener.fileno():
                stream, _ = listener.accept()
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                stream.setblocking(False)
                if tls is not None:
                    stream = tls.wrap_socket(stream, True, do_handshake_on_connect=False)
                connections[stream.fileno()] = Connection(stream, pace)
                poll.register(stream, select.EPOLLIN)
            elif not connections[descriptor].ready():
                with suppress(OSError):
                    poll.unregister(descriptor)
                connections.pop(descriptor).stream.close()


def main() -> None:
    address, port, service_us, *files = sys.argv[1:]
    tls = None
    if files:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*files)
        tls.set_alpn_protocols(["h2", "http/1.1"])
    gc.disable()
    with socket.create_server((address, int(port)), backlog=4096) as listener:
        serve(listener, Pace(round(float(service_us) * 1000)), tls)


if __name__ == "__main__":
    main()
