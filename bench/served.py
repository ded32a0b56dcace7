"""`deadheat serve` as a process, asked for pages."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

DEADHEAT = (sys.executable, "-c", "from deadheat.cli import main; main()")
LISTENS_S = 20.0
SILENT_S = 60.0


class Served:
    """`deadheat serve` over a store, on a free port; ended with the `with` block."""

    def __init__(self, store: Path) -> None:
        self._port = _free_port()
        self._process = subprocess.Popen(
            [*DEADHEAT, "serve", "--store", str(store), "--port", str(self._port)],
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        deadline_s = time.monotonic() + LISTENS_S
        while time.monotonic() < deadline_s and self._process.poll() is None:
            try:
                self.first_byte_s("/")
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return self
        self.__exit__()
        raise RuntimeError(f"deadheat serve does not listen after {LISTENS_S:.0f} s")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def open(self, path: str) -> socket.socket:
        """A connection that has asked for the path, as a browser asks: packed.

        The server closes it after its answer.
        """
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=SILENT_S)
        ask = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n"
        connection.sendall(f"{ask}Connection: close\r\n\r\n".encode())
        return connection

    def get_bytes(self, path: str) -> int:
        """The size of the whole answer. Raises `RuntimeError` for an answer other than 200."""
        with self.open(path) as connection, connection.makefile("rb") as answer:
            status = answer.readline()
            if not status.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"{path}: {status!r}")
            return len(status) + len(answer.read())

    def first_byte_s(self, path: str) -> float:
        """From the connection's start to the answer's first byte, as a browser asks: packed.

        Raises `RuntimeError` for an answer other than 200.
        """
        begun_s = time.perf_counter()
        with socket.create_connection(("127.0.0.1", self._port)) as connection:
            ask = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
            connection.sendall(ask.encode())
            first = connection.recv(64)
            taken_s = time.perf_counter() - begun_s
        if not first.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"{path}: {first[:40]!r}")
        return taken_s


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
