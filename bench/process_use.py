"""Memory, descriptors and threads of processes, as Linux shows them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean

from deadheat.host.agent.kernel import keyed, read_text

KIB = 1024


@dataclass(frozen=True, slots=True)
class Use:
    """What one process uses. RSS counts shared pages in full, PSS in proportion."""

    rss_bytes: float
    pss_bytes: float
    descriptors: float
    threads: float


FIGURES = tuple(field.name for field in fields(Use))


@dataclass(frozen=True, slots=True)
class Sample:
    """Processes of one kind at one time: the mean over them, and how many they are."""

    at_s: float
    mean: Use
    processes: int

    def to_json(self) -> list[float]:
        """The time, then the fields of `Use`, then the number of processes."""
        figures = [round(getattr(self.mean, name), 2) for name in FIGURES]
        return [round(self.at_s, 1), *figures, self.processes]


def sample(pids: Iterable[int], at_s: float) -> Sample | None:
    """None if none of the processes lives."""
    uses = [use for pid in pids if (use := use_of(pid)) is not None]
    if not uses:
        return None
    mean = Use(**{name: fmean(getattr(use, name) for use in uses) for name in FIGURES})
    return Sample(at_s, mean, len(uses))


def use_of(pid: int) -> Use | None:
    """None for a process that has ended."""
    folder = Path(f"/proc/{pid}")
    memory_kib = keyed(read_text(folder / "smaps_rollup"))
    threads = keyed(read_text(folder / "status")).get("Threads")
    try:
        descriptors = len(os.listdir(folder / "fd"))  # noqa: PTH208 (only how many)
    except OSError:
        return None
    if threads is None or "Rss" not in memory_kib:
        return None
    return Use(memory_kib["Rss"] * KIB, memory_kib["Pss"] * KIB, descriptors, threads)
