"""The process that ends the trees of a killed agent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NoReturn

from .cgroup import remove_cgroup
from .escaped import end_tagged
from .kernel import KERNEL_DEADLINE_S
from .program import ARCHIVE_FDS, Fault, own_command


class Keeper:
    """Kills and removes the agent's cgroup if the agent is killed, and kills its containers.

    It is another process of this package. Its standard input is a pipe whose only writer is the
    agent, so the pipe ends with the agent, however that ends. The keeper has its own session and
    ignores the signals that end a session, so what kills a terminal or a process group spares it.
    """

    def __init__(self, cgroup: str) -> None:
        self.process = subprocess.Popen(
            own_command("--keep", cgroup),
            pass_fds=ARCHIVE_FDS,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def add(self, cgroup: str) -> None:
        """Kill what is in this cgroup, too: a container."""
        assert self.process.stdin is not None
        self.process.stdin.write(cgroup.encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main(arguments: list[str]) -> NoReturn:
    """Wait for the end of the agent, then remove its cgroup.

    A launcher that was about to enter the cgroup makes the removal fail, so it is repeated.
    """
    cgroup = arguments[1]
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    received = b""
    while data := os.read(0, 4096):
        received += data
    for container in received.decode().splitlines():
        with contextlib.suppress(OSError):  # it is gone
            Path(container, "cgroup.kill").write_text("1")
    end_s = time.monotonic() + KERNEL_DEADLINE_S
    while Path(cgroup).exists() and time.monotonic() < end_s:
        try:
            remove_cgroup(cgroup)
        except (Fault, OSError):
            time.sleep(0.05)
    with contextlib.suppress(Fault):
        end_tagged(Path(cgroup).name)
    os._exit(0)
