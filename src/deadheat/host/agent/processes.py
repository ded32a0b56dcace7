"""The processes of this machine as /proc shows them."""

from __future__ import annotations

import collections
import os
from pathlib import Path

from .kernel_files import keyed, numbered, read_text

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
DEAD = ("Z", "X")  # states of /proc/PID/stat


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


def cpu_ticks_of(fields: list[str], own: bool = True) -> int:
    """User and system time in ticks, of a process (if `own`) and the children it waited for."""
    return sum(map(int, fields[11:15] if own else fields[13:15]))


def memory_of(pid: int) -> int:
    """Proportional set size in bytes; resident set size if the kernel does not give the former."""
    pss = keyed(read_text(f"/proc/{pid}/smaps_rollup")).get("Pss")
    rss = keyed(read_text(f"/proc/{pid}/status")).get("VmRSS", 0)
    return 1024 * (rss if pss is None else pss)


def resident_bytes(pid: int) -> int:
    """The resident set size. Unlike the proportional one it costs the process nothing to read."""
    fields = (read_text(f"/proc/{pid}/statm") or "0 0").split()
    return int(fields[1]) * PAGE_BYTES


def user_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
