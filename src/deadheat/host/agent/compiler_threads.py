"""The threads in which a JVM compiles: how busy they are, and the CPUs they may use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .kernel_files import numbered, read_text
from .processes import TICKS_PER_S, cpu_ticks_of, stat_fields

NAMES = ("C1 CompilerThre", "C2 CompilerThre")  # HotSpot's names, truncated in comm


def compiler_busy_s(pids: list[int]) -> float | None:
    """Time that the compiler threads of these processes ran, or waited for a CPU.

    None if there are none. A server with hundreds of threads on one CPU keeps its compiler waiting:
    little CPU time does not show that there is little left to compile.
    """
    seconds = [_busy_s(pid, thread) for pid, thread in _threads(pids)]
    return sum(seconds) if seconds else None


def place_compiler(pids: list[int], cpus: list[int] | None) -> None:
    """Let the compiler threads of these processes run on `cpus` only; None: all of this host.

    The kernel leaves out CPUs that the cgroup of a process excludes.
    """
    chosen = os.sched_getaffinity(0) if cpus is None else set(cpus)
    for _, thread in _threads(pids):
        with contextlib.suppress(OSError):  # it has ended, or its cgroup allows none of them
            os.sched_setaffinity(thread, chosen)


def _threads(pids: list[int]) -> Iterator[tuple[int, int]]:
    """(PID, thread id) of each compiler thread."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in numbered(Path(f"/proc/{pid}/task")):
                name = read_text(f"/proc/{pid}/task/{thread}/comm") or ""
                if name.startswith(NAMES):
                    yield pid, thread


def _busy_s(pid: int, thread: int) -> float:
    """Time that a thread ran or waited for a CPU.

    Where the kernel does not count waits, the file is missing or all zero: then only its CPU time.
    """
    task = f"{pid}/task/{thread}"
    fields = stat_fields(task)
    ran_s = cpu_ticks_of(fields) / TICKS_PER_S if fields else 0.0
    schedule = (read_text(f"/proc/{task}/schedstat") or "0 0 0").split()
    return max(ran_s, (int(schedule[0]) + int(schedule[1])) / 1e9)
