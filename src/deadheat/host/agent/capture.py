"""The output of a `run`."""

from __future__ import annotations

import os
import threading
from typing import IO

from .kernel_files import KERNEL_DEADLINE_S
from .log import omitted

CAPTURE_BYTES_MAX = 8 << 20  # per output stream of a `run`: half head, half tail


class Capture(threading.Thread):
    """Reads a pipe to its end and keeps the head and the tail of the output."""

    HALF = CAPTURE_BYTES_MAX // 2

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.pipe = pipe
        self.head = bytearray()
        self.tail = bytearray()
        self.size_bytes = 0
        self.start()

    def run(self) -> None:
        with self.pipe:
            while chunk := os.read(self.pipe.fileno(), 1 << 16):
                self.size_bytes += len(chunk)
                room = self.HALF - len(self.head)
                self.head += chunk[:room]
                self.tail += chunk[room:]
                if len(self.tail) > 2 * self.HALF:
                    del self.tail[: -self.HALF]

    def text(self) -> str:
        self.join(KERNEL_DEADLINE_S)  # a process outside the tree may hold the pipe open
        if self.size_bytes <= CAPTURE_BYTES_MAX:
            return (self.head + self.tail).decode(errors="replace")
        note = omitted(self.size_bytes - CAPTURE_BYTES_MAX)
        tail = self.tail[-self.HALF :]
        return self.head.decode(errors="replace") + note + tail.decode(errors="replace")
