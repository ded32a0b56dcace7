"""A server that tries to survive its stop.

It ignores every signal that it can. It starts children that leave its session and their parents,
reset what would kill them with their parent, and start more children. Each process writes a file
named after its PID to the given folder, so that a test can check which ones live.
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
GENERATIONS = 3


def harden(marks: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0)
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    real_pid = Path("/proc/self").readlink()  # as /proc numbers it, even inside a PID namespace
    (marks / real_pid).write_text(fields[19])


def detach(marks: Path, generation: int) -> None:
    """Fork twice into a new session. The grandchild continues after its parent is dead."""
    if os.fork():
        return
    os.setsid()
    parent_ends, parent_lives = os.pipe()
    if os.fork():
        os._exit(0)
    os.close(parent_lives)
    os.read(parent_ends, 1)
    live(marks, generation)


def live(marks: Path, generation: int) -> None:
    harden(marks)
    if generation < GENERATIONS:
        detach(marks, generation + 1)
        detach(marks, generation + 1)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    live(Path(sys.argv[1]), 0)
