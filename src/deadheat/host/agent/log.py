"""The output of a tree: its log, or what a `run` prints."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from pathlib import Path
from typing import IO

from .kernel import KERNEL_DEADLINE_S
from .program import Fault

FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2  # falloc.h
BLOCK_BYTES = 4096
CAPTURE_BYTES_MAX = 8 << 20  # per output stream of a `run`: half head, half tail


def omitted(size_bytes: int) -> str:
    return f"\n[deadheat: {size_bytes} bytes omitted]\n"


class Log:
    """The log file of a tree, cut in the middle while the tree writes it.

    The tree writes to the file itself, so that the limit costs it nothing. A hole in the middle
    gives the space back and does not change where the tree writes. `close` joins head and tail.
    """

    def __init__(self, file: IO[bytes], size_bytes_max: int) -> None:
        self.path = file.name
        self.descriptor = os.dup(file.fileno())
        self.size_bytes_max = size_bytes_max
        self.kept_bytes = max(size_bytes_max // 4 // BLOCK_BYTES, 1) * BLOCK_BYTES  # at each end
        self.cut_to = 0  # end of the hole
        self.using = threading.Lock()

    @property
    def cut_bytes(self) -> int:
        return max(0, self.cut_to - self.kept_bytes)

    def check(self) -> None:
        """Cut the log if it takes more space than its limit."""
        with self.using:
            if self.descriptor >= 0:
                status = os.fstat(self.descriptor)
                if 512 * status.st_blocks > self.size_bytes_max:
                    self.cut(status.st_size)

    def cut(self, size_bytes: int) -> None:
        end = (size_bytes - self.kept_bytes) // BLOCK_BYTES * BLOCK_BYTES
        if end <= max(self.kept_bytes, self.cut_to):
            return
        try:
            punch_hole(self.descriptor, self.kept_bytes, end)
        except OSError:  # a file system without holes: give up the tail that there is now
            os.ftruncate(self.descriptor, self.kept_bytes)
            end = size_bytes
        self.cut_to = end

    def close(self) -> None:
        """Check the log once more, and join head and tail of a log that was cut."""
        self.check()
        with self.using:
            if self.descriptor < 0:
                return
            os.close(self.descriptor)
            self.descriptor = -1
            if self.cut_to:
                with contextlib.suppress(OSError), Path(self.path).open("r+b") as file:
                    file.seek(self.cut_to)
                    tail = file.read(self.size_bytes_max)
                    file.seek(self.kept_bytes)
                    file.write(omitted(self.cut_bytes).encode() + tail)
                    file.truncate()


def punch_hole(descriptor: int, begin: int, end: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
    span = (ctypes.c_int64(begin), ctypes.c_int64(end - begin))
    if getattr(libc, "fallocate64", libc.fallocate)(descriptor, mode, *span) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def open_log(path: str) -> IO[bytes]:
    try:
        return Path(path).open("wb")
    except OSError as error:
        raise Fault(f"cannot write the log {path}: {error.strerror}") from error


def read_tail(path: str, size_bytes: int) -> str:
    try:
        with Path(path).open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size_bytes))
            return file.read(size_bytes).decode(errors="replace")
    except OSError as error:
        raise Fault(f"cannot read {path}: {error.strerror}") from error


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
