"""What the kernel shows: files of /proc, /sys and cgroups, processes, compiler threads of a JVM."""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

KERNEL_DEADLINE_S = 20.0  # for the kernel to kill, to freeze, or to empty a cgroup
CPU_DEVICES = Path("/sys/devices/system/cpu")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
DEAD = ("Z", "X")  # states of /proc/PID/stat
COMPILER_NAMES = ("C1 CompilerThre", "C2 CompilerThre")  # HotSpot's names, truncated in comm


def read_text(path: str | Path) -> str | None:
    """The stripped text of a kernel file, or None if it is missing or cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def read_number(path: str | Path) -> int | None:
    text = read_text(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def keyed(text: str | None) -> dict[str, int]:
    """The numbers in lines of `key number`, with or without a colon, by key."""
    pairs = (line.replace(":", " ").split() for line in (text or "").splitlines())
    return {p[0]: int(p[1]) for p in pairs if len(p) > 1 and p[1].isdigit()}


def numbered(folder: Path) -> list[int]:
    """The entries of a folder of /proc that are numbers: processes or threads."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def wait_for_key(path: str, key: str, value: int, deadline_s: float) -> bool:
    """Wait until a kernel file has `key value` (kernfs wakes poll(2) on a change)."""
    end_s = time.monotonic() + deadline_s
    try:
        with Path(path).open() as file:
            poll = select.poll()
            poll.register(file, select.POLLPRI)
            while True:
                file.seek(0)
                if keyed(file.read()).get(key) == value:
                    return True
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    return False
                poll.poll(left_s * 1000)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            return True  # the cgroup is gone, so it is empty and no process runs in it
        raise


def stat_fields(pid: int | str) -> list[str] | None:
    """Fields 3 and later of /proc/PID/stat (proc(5)): [0] state, [1] parent; None if gone."""
    text = read_text(f"/proc/{pid}/stat")
    return text.rpartition(")")[2].split() if text else None


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot. Together with the PID it is unique.

    None if the process is dead, also if it is a zombie.
    """
    fields = stat_fields(pid)
    return int(fields[19]) if fields and fields[0] not in DEAD else None


class Family:
    """The children of every process now. One look at /proc serves several trees."""

    def __init__(self) -> None:
        self.children: dict[int, list[int]] = collections.defaultdict(list)
        self.dead = set()
        for pid in numbered(Path("/proc")):
            fields = stat_fields(pid)
            if fields:
                self.children[int(fields[1])].append(pid)
                if fields[0] in DEAD:
                    self.dead.add(pid)

    def descendants(self, root: int) -> list[int]:
        pids = [root]
        for pid in pids:
            pids.extend(self.children.get(pid, ()))
        return [pid for pid in pids[1:] if pid not in self.dead]


def start_times(pids: list[int]) -> list[tuple[int, int]]:
    """(PID, start in clock ticks) of those of `pids` that live."""
    return [(pid, ticks) for pid in pids if (ticks := start_ticks(pid)) is not None]


def descendants(root: int) -> list[int]:
    """Every living process below `root`, nearest first, without zombies."""
    return Family().descendants(root)


def cpu_ticks_of(fields: list[str], own: bool = True) -> tuple[int, int]:
    """User and system time in ticks, of a process (if `own`) and the children it waited for."""
    user, system, of_children, system_of_children = map(int, fields[11:15])
    return of_children + user * own, system_of_children + system * own


def threads_of(pids: list[int]) -> Iterator[tuple[int, int]]:
    """(PID, thread id) of each living thread of these processes."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in numbered(Path(f"/proc/{pid}/task")):
                yield pid, thread


def switches_of(pids: list[int]) -> dict[int, tuple[int, int]]:
    """Voluntary and involuntary context switches of each living thread, by its id."""
    switches = {}
    for pid, thread in threads_of(pids):
        status = keyed(read_text(f"/proc/{pid}/task/{thread}/status"))
        if "voluntary_ctxt_switches" in status:
            names = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
            switches[thread] = (status[names[0]], status[names[1]])
    return switches


def memory_of(pid: int) -> int:
    """Anonymous and shared memory in bytes, of a page that several map the process's part.

    The whole page, if the kernel does not tell the part (before Linux 5.4).
    """
    part = keyed(read_text(f"/proc/{pid}/smaps_rollup"))
    if "Pss_Anon" in part:
        return 1024 * (part["Pss_Anon"] + part.get("Pss_Shmem", 0))
    whole = keyed(read_text(f"/proc/{pid}/status"))
    return 1024 * (whole.get("RssAnon", 0) + whole.get("RssShmem", 0))


def peak_of(pid: int) -> int:
    """The most anonymous and shared memory that a process had, or less; 0 if it has ended.

    Its peak resident set without the files that it maps now: it mapped no more at its peak, unless
    it has unmapped some.
    """
    status = keyed(read_text(f"/proc/{pid}/status"))
    return 1024 * max(0, status.get("VmHWM", 0) - status.get("RssFile", 0))


def resident_bytes(pid: int) -> int:
    """The resident set size. Unlike the proportional one it costs the process nothing to read."""
    fields = (read_text(f"/proc/{pid}/statm") or "0 0").split()
    return int(fields[1]) * PAGE_BYTES


def environment_of(pid: int) -> dict[bytes, bytes]:
    """The environment that a process was started with; empty if it is not ours to read."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(word.split(b"=", 1) for word in words if b"=" in word)


def command_of(pid: int) -> str:
    """A process as an error names it: its PID and its short name."""
    return f"{pid} ({read_text(f'/proc/{pid}/comm') or 'ended'})"


def user_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def compiler_busy_s(pids: list[int]) -> float | None:
    """Time that the compiler threads of these processes ran, or waited for a CPU.

    None if there are none. A server with hundreds of threads on one CPU keeps its compiler waiting:
    little CPU time does not show that there is little left to compile.
    """
    seconds = [_busy_s(f"{pid}/task/{thread}") for pid, thread in _compiler_threads(pids)]
    return sum(seconds) if seconds else None


def place_compiler(pids: list[int], cpus: list[int] | None) -> None:
    """Let the compiler threads of these processes run on `cpus` only; None: all of this host.

    The kernel leaves out CPUs that the cgroup of a process excludes.
    """
    chosen = os.sched_getaffinity(0) if cpus is None else set(cpus)
    for _, thread in _compiler_threads(pids):
        with contextlib.suppress(OSError):  # it has ended, or its cgroup allows none of them
            os.sched_setaffinity(thread, chosen)


def thread_times(pids: list[int]) -> list[dict[str, object]]:
    """Each living thread of these processes: the time that it ran on a CPU, and waited for one."""
    times: list[dict[str, object]] = []
    for pid, thread in threads_of(pids):
        task = f"{pid}/task/{thread}"
        fields = stat_fields(task)
        if fields is not None:
            name = read_text(f"/proc/{task}/comm") or ""
            ran_s, waited_s = _scheduled_s(task)
            ran_s = ran_s or sum(cpu_ticks_of(fields)) / TICKS_PER_S
            time = {"ran_s": ran_s, "waited_s": waited_s}
            times.append({"pid": pid, "id": thread, "name": name, **time})
    return times


def _compiler_threads(pids: list[int]) -> Iterator[tuple[int, int]]:
    for pid, thread in threads_of(pids):
        if (read_text(f"/proc/{pid}/task/{thread}/comm") or "").startswith(COMPILER_NAMES):
            yield pid, thread


def _busy_s(task: str) -> float:
    """Time that a thread ran or waited for a CPU.

    Where the kernel does not count waits, the file is missing or all zero: then only its CPU time.
    """
    fields = stat_fields(task)
    ran_s = sum(cpu_ticks_of(fields)) / TICKS_PER_S if fields else 0.0
    return max(ran_s, sum(_scheduled_s(task)))


def _scheduled_s(task: str) -> tuple[float, float]:
    """How long a thread ran and waited for a CPU; zeros where the kernel does not count it."""
    ran_ns, waited_ns, *_ = (read_text(f"/proc/{task}/schedstat") or "0 0 0").split()
    return int(ran_ns) / 1e9, int(waited_ns) / 1e9
