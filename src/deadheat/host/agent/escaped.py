"""Processes that left the cgroup of their tree, as root can: found again, and killed.

Two things find them. The agent is a subreaper, so a process whose parents ended becomes a child of
the agent. And each tree has a tag in its environment, which its processes inherit. After the agent
itself was killed, only the tag is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from .kernel import KERNEL_DEADLINE_S, command_of, environment_of, numbered, start_ticks
from .program import TAG, Fault

ROUND_S = 0.01


def tags() -> list[tuple[int, str]]:
    """(PID, tag) of each living process of this user with a tag, without this one."""
    tagged_pids = []
    for pid in numbered(Path("/proc")):
        tag = environment_of(pid).get(TAG.encode())
        if tag is not None and pid != os.getpid() and start_ticks(pid) is not None:
            tagged_pids.append((pid, tag.decode(errors="replace")))
    return tagged_pids


def tagged(tag: str) -> list[int]:
    """The living processes with this tag, or with one below it."""
    return [pid for pid, other in tags() if other == tag or other.startswith(f"{tag}/")]


def kill_all(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def left_running(pids: list[int]) -> Fault:
    return Fault(
        f"left running: {', '.join(map(command_of, pids))}",
        f"end them yourself: kill -9 {' '.join(map(str, pids))}",
    )


def end_tagged(tag: str, deadline_s: float = KERNEL_DEADLINE_S) -> None:
    """Kill the processes with the tag until none is left. Raises `Fault` with their names."""
    end_s = time.monotonic() + deadline_s
    while pids := tagged(tag):
        if time.monotonic() > end_s:
            raise left_running(pids)
        kill_all(pids)
        time.sleep(ROUND_S)


class Orphans:
    """Reaps processes that the agent adopted, and never the agent's own children."""

    def __init__(self) -> None:
        self.last = 0  # the dead child that the last look saw

    def reap(self) -> None:
        """Reap a dead child that nothing else waited for between two looks."""
        with contextlib.suppress(ChildProcessError):
            while True:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                pid = dead.si_pid if dead else 0
                if not pid or pid != self.last:
                    self.last = pid
                    return
                os.waitpid(pid, os.WNOHANG)
