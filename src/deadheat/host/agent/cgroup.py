"""The cgroup of an agent (claimed, swept, removed), and a tree in a cgroup of its own."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .escaped import kill_all, left_running, tags
from .kernel import (
    KERNEL_DEADLINE_S,
    Family,
    descendants,
    keyed,
    read_text,
    start_ticks,
    wait_for_key,
)
from .program import Fault, Json
from .tree import Tree

CLIENT_END_S = 5.0  # from the end of a container to that of the runtime's client


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


def sweep_tagged() -> None:
    """Kill the processes of dead agents that left their cgroups."""
    kill_all([pid for pid, tag in tags() if not owner_lives(tag.partition("/")[0])])


def owner_lives(name: str) -> bool:
    """Whether the process that got this `cgroup_name` lives. True if it cannot be known."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    match = re.match(r"deadheat-(\d+)-(\d+)-(\d+)$", name)
    if match is None or int(match.group(1)) != space:
        return True
    return str(start_ticks(int(match.group(2)))) == match.group(3)


def remove_cgroup(path: str, deadline_s: float = KERNEL_DEADLINE_S) -> None:
    """Kill every process in a cgroup and below it, and remove it. `Fault` names what is left."""
    try:
        Path(path, "cgroup.kill").write_text("1")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            return
        raise
    if not wait_for_key(f"{path}/cgroup.events", "populated", 0, deadline_s):
        raise left_running(processes_in(path))
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
    claimed.sort(key=lambda path: not (path / "memory.stat").exists())
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


class CgroupTree(Tree):
    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.path = self.own_path = spec["cgroup"]  # of the tree, and of the command
        self.cpu_usec = (0, 0)  # user and system
        Path(self.path).mkdir()
        try:
            super().__init__(spec, stdout, stderr)
        except BaseException:
            remove_cgroup(self.path)
            raise
        self.control.close()
        self.report.close()

    def await_end(self) -> None:
        self.note_exit(self.process.wait())

    def adopt(self, pid: int) -> None:
        """The container's own cgroup takes the place of ours, which holds only the client."""
        super().adopt(pid)
        path = cgroup_of(pid)
        members = processes_in(path) if path else []
        if not path or not set(members) <= {pid, *descendants(pid)}:
            raise Fault(
                "the container shares its cgroup with other processes",
                "let the runtime give each container a cgroup: omit --cgroups=disabled",
            )
        self.path = path

    def members(self, family: Family | None = None) -> list[int]:
        return processes_in(self.path)

    def left(self, pids: list[int]) -> int | None:
        first = self.process.pid
        if self.container or self.ended.is_set():
            return None
        children = read_text(f"/proc/{first}/task/{first}/children") or ""
        for pid in (first, *map(int, children.split())):
            if pid not in pids and start_ticks(pid) is not None:
                path = cgroup_of(pid)
                if path is not None and not f"{path}/".startswith(f"{self.own_path}/"):
                    return pid
        return None

    def cpu_times_s(self) -> tuple[float, float]:
        stat = keyed(read_text(f"{self.path}/cpu.stat"))
        if stat:
            self.cpu_usec = (stat["user_usec"], stat["system_usec"])
        elif not self.container:  # that of a container is removed by the runtime
            raise Fault(f"the tree of process {self.process.pid} has been stopped")
        return self.cpu_usec[0] / 1e6, self.cpu_usec[1] / 1e6

    def memory_now(self) -> int:
        stat = keyed(read_text(f"{self.path}/memory.stat"))
        return stat["anon"] + stat["shmem"] if "anon" in stat else super().memory_now()

    def memory_apart(self) -> Json:
        stat = keyed(read_text(f"{self.path}/memory.stat"))
        if "anon" not in stat:
            return super().memory_apart()
        return {"socket_bytes": stat["sock"], "cache_bytes": stat["file"] - stat["shmem"]}

    def signal_first(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def freeze(self) -> None:
        if self.container and not Path(self.path).exists():
            return
        Path(self.path, "cgroup.freeze").write_text("1")
        if not wait_for_key(f"{self.path}/cgroup.events", "frozen", 1, KERNEL_DEADLINE_S):
            self.thaw()
            raise Fault(
                f"process {self.process.pid} was not frozen within {KERNEL_DEADLINE_S:g} s",
                "end the process in uninterruptible sleep (state D in ps)",
            )

    def thaw(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.path, "cgroup.freeze").write_text("0")
            wait_for_key(f"{self.path}/cgroup.events", "frozen", 0, KERNEL_DEADLINE_S)

    def wait_empty(self, deadline_s: float) -> bool:
        return wait_for_key(f"{self.path}/cgroup.events", "populated", 0, deadline_s)

    def kill(self) -> None:
        if self.container:
            self.end_processes()
            self.wait_empty(KERNEL_DEADLINE_S)
            self.ended.wait(CLIENT_END_S)  # so that the client writes the end of the container
        remove_cgroup(self.own_path)
        self.end_outside()

    def end_processes(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.path, "cgroup.kill").write_text("1")


def processes_in(path: str) -> list[int]:
    """The processes in a cgroup and below it."""
    text = " ".join(read_text(Path(folder, "cgroup.procs")) or "" for folder, _, _ in os.walk(path))
    return [int(pid) for pid in text.split() if pid != "0"]
