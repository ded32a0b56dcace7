"""A tree in its own cgroup."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from .cgroup import remove_cgroup
from .fault import Fault, Json
from .kernel_files import KERNEL_DEADLINE_S, keyed, read_number, read_text, wait_for_key
from .processes import Family
from .tree import Tree


class CgroupTree(Tree):
    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.path = spec["cgroup"]
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

    def members(self, family: Family | None = None) -> list[int]:
        text = " ".join(
            read_text(Path(folder, "cgroup.procs")) or "" for folder, _, _ in os.walk(self.path)
        )
        return [int(pid) for pid in text.split() if pid != "0"]

    def cpu_s(self) -> float:
        stat = keyed(read_text(f"{self.path}/cpu.stat"))
        if not stat:
            raise Fault(f"the tree of process {self.process.pid} has been stopped")
        return stat["usage_usec"] / 1e6

    def memory(self) -> tuple[int, int]:
        now = read_number(f"{self.path}/memory.current")
        peak = read_number(f"{self.path}/memory.peak")
        return super().memory() if now is None or peak is None else (now, peak)

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def freeze(self) -> None:
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
        remove_cgroup(self.path)

    def end_processes(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.path, "cgroup.kill").write_text("1")
