"""The way in which trees are contained on this machine, and a tree below our init."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Iterable  # noqa: UP035 (for 3.8)

from .cgroup import CgroupTree, cgroup_name, claim_cgroup, remove_cgroup, sweep_tagged
from .escaped import ROUND_S, Orphans, end_tagged, kill_all, left_running
from .init import PR_SET_CHILD_SUBREAPER, libc_call
from .keeper import Keeper
from .kernel import (
    DEAD,
    KERNEL_DEADLINE_S,
    Family,
    cpu_ticks_of,
    descendants,
    numbered,
    read_text,
    stat_fields,
)
from .launcher import numbers
from .program import Fault, Json
from .tree import Tree

CONTAINMENTS = ("cgroup-v2", "pid-namespace", "subreaper")
REST_DEADLINE_S = 1.0  # for what is left, after one tree could not be killed


class InitTree(Tree):
    """A tree below our init, in a PID namespace or by adoption."""

    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.empty = threading.Event()
        self.namespaced = spec["containment"] == "pid-namespace"
        super().__init__(spec, stdout, stderr)
        children = descendants(self.process.pid)
        self.init = children[0] if self.namespaced and children else self.process.pid

    def await_end(self) -> None:
        for line in self.report:
            event = json.loads(line)
            if "exit" in event:
                self.note_exit(event["exit"])
            if "empty" in event:
                self.empty.set()
        self.process.wait()
        self.empty.set()
        if not self.ended.is_set():
            self.note_exit(-signal.SIGKILL)

    def members(self, family: Family | None = None) -> list[int]:
        return (family or Family()).descendants(self.init)

    def adopt(self, pid: int) -> None:
        """The runtime's monitor has no other child, so it takes the place of our init."""
        super().adopt(pid)
        fields = stat_fields(pid)
        if fields is None or int(fields[1]) <= 1:
            raise Fault(f"process {pid} of the container has no monitor")
        self.init = int(fields[1])

    def cpu_times_s(self) -> tuple[float, float]:
        """The time of the processes that the init reaped and of its living descendants.

        The init is read first. A process that ends in between is missed once, not counted twice.
        """
        init = stat_fields(self.init)
        if init is None and not self.container:
            raise Fault(f"the tree of process {self.process.pid} has been stopped")
        if init is None:
            return self.added_up_s([])
        living = (stat_fields(pid) for pid in self.members())
        ticks = [cpu_ticks_of(fields) for fields in living if fields]
        return self.added_up_s([cpu_ticks_of(init, own=False), *ticks])

    def signal_first(self, number: int) -> None:
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.control.write(b"%d\n" % number)
            self.control.flush()

    def freeze(self) -> None:
        """Send SIGSTOP to every running process, repeatedly, until none is left."""
        end_s = time.monotonic() + KERNEL_DEADLINE_S
        while running := [pid for pid in self.members() if not is_stopped(pid)]:
            if time.monotonic() > end_s:
                self.thaw()
                raise Fault(
                    f"processes {numbers(running)} did not stop within {KERNEL_DEADLINE_S:g} s"
                )
            self.signal_all(running, signal.SIGSTOP)
            time.sleep(0.001)

    def thaw(self) -> None:
        self.signal_all(self.members(), signal.SIGCONT)

    def signal_all(self, pids: list[int], number: int) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait_empty(self, deadline_s: float) -> bool:
        return self.empty.wait(deadline_s)

    def kill(self) -> None:
        if self.container:
            self.end_processes()
        with contextlib.suppress(BrokenPipeError):
            self.control.close()
        try:
            self.process.wait(KERNEL_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            raise Fault(f"the init {self.process.pid} did not end its tree: {error}") from error
        self.end_outside()

    def end_processes(self) -> None:
        """Stop them first: a stopped process cannot start others while they are killed."""
        with contextlib.suppress(Fault):
            self.freeze()
        end_s = time.monotonic() + KERNEL_DEADLINE_S
        while (pids := self.members()) and time.monotonic() < end_s:
            self.signal_all(pids, signal.SIGKILL)
            time.sleep(0.001)


def is_stopped(pid: int) -> bool:
    """Whether every thread of the process is stopped or dead, or will be when it leaves the kernel.

    The last case is the parent of a vfork(2) whose child was stopped before its exec.
    """
    try:
        threads = numbered(Path(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return True
    stats = (stat_fields(f"{pid}/task/{thread}") for thread in threads)
    states = {fields[0] for fields in stats if fields}
    return states <= {*DEAD, "T", "t"} or (
        states <= {*DEAD, "T", "t", "D"} and stop_is_pending(pid)
    )


def stop_is_pending(pid: int) -> bool:
    for line in (read_text(f"/proc/{pid}/status") or "").splitlines():
        if line.startswith("ShdPnd:"):
            return bool(int(line.split()[1], 16) & 1 << signal.SIGSTOP - 1)
    return False


class Containment:
    """Starts trees, contained in the first way that worked when the agent started."""

    def __init__(self, wanted: str | None) -> None:
        self.cgroup: str | None = None
        self.keeper: Keeper | None = None
        self.started = 0
        self.agent_name = cgroup_name()
        self.orphans = Orphans()
        with contextlib.suppress(Fault):  # then the tag alone finds what leaves a tree
            libc_call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        sweep_tagged()
        for name in CONTAINMENTS if wanted is None else (wanted,):
            if self.works(name):
                self.name = name
                return
        raise Fault(
            f"this host cannot contain process trees by {wanted or ' or '.join(CONTAINMENTS)}",
            "run as root, or under `systemd-run --user --scope -p Delegate=yes`",
        )

    def works(self, name: str) -> bool:
        if name == "cgroup-v2":
            self.cgroup = claim_cgroup()
            self.keeper = Keeper(self.cgroup) if self.cgroup else None
            return self.cgroup is not None
        self.name = name
        try:
            empty_program = {"command": [sys.executable, "-I", "-S", "-c", ""]}
            self.start(empty_program, subprocess.DEVNULL, subprocess.DEVNULL).kill()
        except Fault:
            return False
        return True

    def start(self, spec: Json, stdout: Any, stderr: Any) -> Tree:
        self.started += 1
        cgroup = f"{self.cgroup}/{self.started}" if self.cgroup else None
        defaults: Json = {"cwd": None, "env": {}, "cpus": None, "stdin_fd": None, "limits": {}}
        defaults["client"] = defaults["limited"] = False
        defaults["tag"] = None if spec.get("client") else f"{self.agent_name}/{self.started}"
        full = dict(defaults, **spec, cgroup=cgroup, containment=self.name)
        return (CgroupTree if cgroup else InitTree)(full, stdout, stderr)

    def keep(self, tree: Tree) -> None:
        """Let a container end with the agent; it is outside the agent's cgroup."""
        if self.keeper and isinstance(tree, CgroupTree):
            self.keeper.add(tree.path)

    def close(self, trees: Iterable[Tree]) -> list[Exception]:
        """Kill these trees and every other process. Returns errors, which name what is left."""
        failures: list[Exception] = []

        def end_rest() -> None:
            self.end_rest(REST_DEADLINE_S if failures else KERNEL_DEADLINE_S)

        for end in (*[tree.kill for tree in trees], end_rest):
            try:
                end()
            except (Fault, OSError) as error:
                failures.append(error)
        return failures

    def end_rest(self, deadline_s: float) -> None:
        try:
            if self.cgroup:
                remove_cgroup(self.cgroup, deadline_s)
        finally:
            self.end_orphans(deadline_s)
        if self.keeper:
            self.keeper.close()

    def end_orphans(self, deadline_s: float) -> None:
        """Kill what left its tree and was adopted by the agent, with or without a tag."""
        end_s = time.monotonic() + deadline_s
        keeper = self.keeper.process.pid if self.keeper else None
        while pids := [pid for pid in descendants(os.getpid()) if pid != keeper]:
            if time.monotonic() > end_s:
                raise left_running(pids)
            kill_all(pids)
            time.sleep(ROUND_S)
        end_tagged(self.agent_name, deadline_s)

    @property
    def memory_source(self) -> str:
        counted = self.cgroup and Path(self.cgroup, "memory.stat").exists()
        return f"anonymous and shared, {'cgroup' if counted else 'PSS'}"
