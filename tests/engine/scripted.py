"""A server with one reply, one thread for each connection, that counts each reply."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!"


@dataclass(frozen=True)
class Reply:
    """Bytes of an answer, and whether the server closes the connection then."""

    content: bytes
    closes: bool = False


class Scripted:
    """Answers every request with `reply`."""

    def __init__(self, reply: Reply, backlog: int) -> None:
        self._reply = reply
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self._lock = threading.Lock()
        self.answered = 0
        self.connections = 0

    @property
    def url(self) -> str:
        return "http://{}:{}/".format(*self._listener.getsockname())

    def accept(self) -> None:
        with suppress(OSError):  # closed: the test is over
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        pending = b""
        with connection, suppress(OSError):  # the client has gone
            while received := connection.recv(65536):
                *heads, pending = (pending + received).split(b"\r\n\r\n")
                for _ in heads:
                    with self._lock:
                        self.answered += 1
                    connection.sendall(self._reply.content)
                    if self._reply.closes:
                        return


@contextmanager
def scripted(reply: Reply, backlog: int = 128) -> Iterator[Scripted]:
    """A running server."""
    server = Scripted(reply, backlog)
    threading.Thread(target=server.accept, daemon=True).start()
    try:
        yield server
    finally:
        server.close()
