"""The CPU time of Ray's own processes on this host, from /proc."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class RayCpu:
    """CPU seconds of each process of Ray, by its id and start time, at one moment."""

    at_s: float  # on this host's monotonic clock
    cpus: int
    cpu_s: Mapping[tuple[int, int], float]

    def share_since(self, first: "RayCpu") -> float:
        """The share of all CPUs of the host that Ray used since `first`.

        A process that began in between counts from its start; one that ended in between is missed.
        """
        used_s = sum(
            max(0.0, cpu_s - first.cpu_s.get(process, 0.0)) for process, cpu_s in self.cpu_s.items()
        )
        return used_s / (max(self.at_s - first.at_s, 1e-9) * self.cpus)


def read_ray_cpu(package: Path, proc: Path = Path("/proc")) -> RayCpu:
    """Read it now; `package` is the folder of the Python package `ray` on this host."""
    cpu_s = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if _is_of_ray(words, package):
            # man proc_pid_stat: fields 14 and 15 are user and system time, field 22 the start
            ticks = int(fields[11]) + int(fields[12])
            cpu_s[int(folder.name), int(fields[19])] = ticks / TICKS_PER_S
    return RayCpu(time.monotonic(), os.cpu_count() or 1, cpu_s)


def _is_of_ray(words: list[bytes], package: Path) -> bool:
    """Whether a command line is that of a daemon or a worker of Ray.

    Ray titles its workers `ray::NAME`; its other processes are programs and modules of its package.
    """
    inside = f"{package}/".encode()
    return words[0].startswith(b"ray::") or any(word.startswith(inside) for word in words[:4])
