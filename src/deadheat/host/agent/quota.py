"""CPU quotas of this process's cgroups, as `docker run --cpus` sets them, and what they stopped.

A quota gives a cgroup some time in each period, usually 100 ms, and stops it for the rest. It is in
`cpu.max` of cgroups v2, and in `cpu.cfs_quota_us` and `cpu.cfs_period_us` of v1. A quota of a
parent holds too. `nr_throttled` in `cpu.stat` counts the periods in which the cgroup was stopped.
"""

from __future__ import annotations

from pathlib import Path

from .kernel import keyed, read_number, read_text


def cpu_cgroups() -> list[Path]:
    """The cgroups of this process that may have a quota, with their parents."""
    folders: list[Path] = []
    own = [line.split(":", 2) for line in (read_text("/proc/self/cgroup") or "").splitlines()]
    for line in (read_text("/proc/self/mounts") or "").splitlines():
        _, root, kind, options = line.split()[:4]
        for _, controllers, path in (fields for fields in own if len(fields) == 3):
            is_v1 = kind == "cgroup" and "cpu" in controllers.split(",")
            if (is_v1 and "cpu" in options.split(",")) or (kind == "cgroup2" and not controllers):
                folders += above(Path(root), path)
    return folders


def above(root: Path, path: str) -> list[Path]:
    """A cgroup and its parents that exist; a container sees only some of them."""
    here = root / path.strip("/")
    below = (each for each in (here, *here.parents) if root in (each, *each.parents))
    return [each for each in below if each.is_dir()]


def quota_of(folder: Path) -> float | None:
    """The CPUs that the quota of one cgroup gives; None without a quota."""
    quota_us, period_us = read_number(folder / "cpu.cfs_quota_us"), None
    if quota_us is not None:
        period_us = read_number(folder / "cpu.cfs_period_us")
    else:
        fields = (read_text(folder / "cpu.max") or "max").split()
        if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
            quota_us, period_us = int(fields[0]), int(fields[1])
    return quota_us / period_us if quota_us and quota_us > 0 and period_us else None


def cpu_quota() -> float | None:
    """The CPUs that this process and its children may use together; None without a quota."""
    quotas = (quota_of(folder) for folder in cpu_cgroups())
    return min((quota for quota in quotas if quota is not None), default=None)


def throttled(folders: list[Path]) -> int | None:
    """The periods in which one of these cgroups was stopped so far; None if none has a quota."""
    counts = [keyed(read_text(each / "cpu.stat")).get("nr_throttled") for each in folders]
    return max((count for count in counts if count is not None), default=None)


def limited_cgroups() -> list[Path]:
    """The cgroups of this process with a quota."""
    return [folder for folder in cpu_cgroups() if quota_of(folder) is not None]
