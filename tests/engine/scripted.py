"""A server with scripted replies, one thread for each connection, that counts each reply."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!"

_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Reply:
    """Bytes of an answer, and what follows: `keep`, `close` or `reset`."""

    content: bytes
    then: str = "keep"


class Scripted:
    """Answers every request with `reply`, except the first with `first` if given."""

    def __init__(self, reply: Reply, first: Reply | None, backlog: int) -> None:
        self._reply, self._first = reply, first
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self._lock = threading.Lock()
        self.answered = 0
        self.connections = 0

    @property
    def url(self) -> str:
        return "http://{}:{}/".format(*self._listener.getsockname())

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed: the test is over
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            pending = b""
            while True:
                head, end, pending = pending.partition(b"\r\n\r\n")
                if not end:
                    pending = head + (received := _receive(connection))
                    if not received:
                        return
                    continue
                reply = self._next()
                try:
                    connection.sendall(reply.content)
                except OSError:  # the client has gone
                    return
                if reply.then == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
                if reply.then != "keep":
                    return

    def _next(self) -> Reply:
        with self._lock:
            self.answered += 1
            return self._first if self._first and self.answered == 1 else self._reply


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


@contextmanager
def scripted(reply: Reply, first: Reply | None = None, backlog: int = 128) -> Iterator[Scripted]:
    """A running server; `first` is what the engine's preflight gets."""
    server = Scripted(reply, first, backlog)
    threading.Thread(target=server.accept, daemon=True).start()
    try:
        yield server
    finally:
        server.close()
