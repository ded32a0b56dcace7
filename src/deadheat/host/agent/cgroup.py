"""The cgroup of an agent: claimed, swept, removed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from pathlib import Path
from typing import Iterator  # noqa: UP035 (for 3.8)

from .fault import Fault
from .kernel_files import KERNEL_DEADLINE_S, read_text, wait_for_key
from .processes import start_ticks


def cgroup_of(pid: int | str) -> str | None:
    """The folder of a process's cgroup in the v2 hierarchy; None if that is not mounted."""
    mounts = [line.split() for line in (read_text("/proc/self/mounts") or "").splitlines()]
    lines = (read_text(f"/proc/{pid}/cgroup") or "").splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), None)
    root = next((Path(m[1]) for m in mounts if m[2] == "cgroup2"), None)
    return None if own is None or root is None else str(root / own.strip("/"))


def cgroup_candidates() -> Iterator[Path]:
    """The cgroup of this process and its parent in the v2 hierarchy, if that is mounted."""
    own = cgroup_of("self")
    if own is None:
        return
    here = Path(own)
    root = next(path for path in (here, *here.parents) if path.is_mount())
    if str(os.getpid()) in (read_text(here / "cgroup.procs") or "").split():
        yield here
        if here != root:
            yield here.parent


def cgroup_name() -> str:
    """A name that identifies this agent by PID namespace, PID and start time."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    return f"deadheat-{space}-{os.getpid()}-{start_ticks(os.getpid())}"


def sweep(folder: Path) -> None:
    """Kill and remove the cgroups that dead agents left in `folder`."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    for cgroup in folder.glob(f"deadheat-{space}-*-*"):
        with contextlib.suppress(FileNotFoundError):  # another agent ended, or swept it, meanwhile
            ours = cgroup.stat().st_uid == os.geteuid()
            if ours and not owner_lives(cgroup.name):
                remove_cgroup(str(cgroup))


def owner_lives(name: str) -> bool:
    """Whether the process that got this `cgroup_name` lives. True if it cannot be known."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    match = re.match(r"deadheat-(\d+)-(\d+)-(\d+)$", name)
    if match is None or int(match.group(1)) != space:
        return True
    return str(start_ticks(int(match.group(2)))) == match.group(3)


def remove_cgroup(path: str) -> None:
    """Kill every process in a cgroup and below it, and remove it."""
    try:
        Path(path, "cgroup.kill").write_text("1")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            return
        raise
    if not wait_for_key(f"{path}/cgroup.events", "populated", 0, KERNEL_DEADLINE_S):
        raise Fault(f"{path} still has processes {KERNEL_DEADLINE_S:g} s after they were killed")
    for folder, _, _ in os.walk(path, topdown=False):
        with contextlib.suppress(FileNotFoundError):
            Path(folder).rmdir()


def claim_cgroup() -> str | None:
    """A new cgroup for the trees, if possible with memory accounting; None if refused."""
    claimed: list[Path] = []
    for folder in cgroup_candidates():
        try:
            sweep(folder)
            path = folder / cgroup_name()
            path.mkdir()
            if accepts_processes(path):
                claimed.append(path)
            else:
                path.rmdir()
        except (OSError, Fault):
            continue
    claimed.sort(key=lambda path: not (path / "memory.peak").exists())
    for path in claimed[1:]:
        path.rmdir()
    return str(claimed[0]) if claimed else None


def accepts_processes(path: Path) -> bool:
    """Whether a child can move into a cgroup below `path` and be killed and frozen there."""
    probe = path / "probe"
    probe.mkdir()
    child = os.fork()
    if child == 0:
        try:
            (probe / "cgroup.procs").write_text("0")
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    probe.rmdir()
    return status == 0 and all((path / f"cgroup.{name}").exists() for name in ("kill", "freeze"))
