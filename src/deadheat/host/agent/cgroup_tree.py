"""A tree in its own cgroup."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from .cgroup import cgroup_of, remove_cgroup
from .fault import Fault, Json
from .kernel_files import KERNEL_DEADLINE_S, keyed, read_number, read_text, wait_for_key
from .processes import Family, descendants
from .tree import Tree

CLIENT_END_S = 5.0  # from the end of a container to that of the runtime's client


class CgroupTree(Tree):
    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.path = self.own_path = spec["cgroup"]  # of the tree, and of the command
        self.cpu_usec = 0
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

    def cpu_s(self) -> float:
        stat = keyed(read_text(f"{self.path}/cpu.stat"))
        if not stat and self.container:  # the runtime has removed it
            return self.cpu_usec / 1e6
        if not stat:
            raise Fault(f"the tree of process {self.process.pid} has been stopped")
        self.cpu_usec = stat["usage_usec"]
        return self.cpu_usec / 1e6

    def memory(self) -> tuple[int, int]:
        now = read_number(f"{self.path}/memory.current")
        peak = read_number(f"{self.path}/memory.peak")
        return super().memory() if now is None or peak is None else (now, peak)

    def send(self, number: int) -> None:
        if self.container:
            self.signal_container(number)
            return
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

    def end_processes(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.path, "cgroup.kill").write_text("1")


def processes_in(path: str) -> list[int]:
    """The processes in a cgroup and below it."""
    text = " ".join(read_text(Path(folder, "cgroup.procs")) or "" for folder, _, _ in os.walk(path))
    return [int(pid) for pid in text.split() if pid != "0"]
