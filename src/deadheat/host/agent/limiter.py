"""Ends the trees that exceed their limits."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable

from .escaped import kill_all
from .kernel import Family, keyed, read_text, resident_bytes
from .program import MEMORY_SHARE_MAX, Fault
from .tree import Tree

MEMORY_SHARE_LEFT_MIN = 0.03  # below this, the largest tree ends before the kernel ends a process
LIMITS_INTERVAL_S = 0.2  # the check of a tree takes about 50 us
OWN_TREES_EVERY = 20  # checks: a race on many workloads has hundreds of load processes
LIMITS_INTERVAL_OF_INITS_S = 1.0  # without a cgroup it has to read all of /proc


def gib(size_bytes: float) -> str:
    if size_bytes < 0.01 * 2**30:
        return f"{size_bytes / 2**20:.2f} MiB"
    return f"{size_bytes / 2**30:.2f} GiB"


class Limiter(threading.Thread):
    """Ends each tree that exceeds its limits, and cuts logs, until the agent ends.

    A frozen tree is checked once. deadheat's own programs are checked in turns, because a check of
    hundreds of them disturbs a load. Resident sets count shared memory more than once, so the exact
    memory is read only if their sum exceeds the limit.
    """

    def __init__(
        self, trees: dict[str, Tree], cgroups: bool, reap: Callable[[], object] = bool
    ) -> None:
        super().__init__(daemon=True)
        self.reap = reap  # what the agent adopted
        self.trees = trees
        self.cgroups = cgroups
        self.memory_total_bytes = 1024 * keyed(read_text("/proc/meminfo")).get("MemTotal", 0)

    def run(self) -> None:
        for turn in itertools.cycle(range(OWN_TREES_EVERY)):
            time.sleep(LIMITS_INTERVAL_S if self.cgroups else LIMITS_INTERVAL_OF_INITS_S)
            self.reap()
            self.check_all(turn)

    def check_all(self, turn: int) -> None:
        trees = list(self.trees.values())
        numbered = enumerate(trees)
        due = [tree for i, tree in numbered if tree.is_limited or i % OWN_TREES_EVERY == turn]
        family = None if self.cgroups or not due else Family()
        for tree in due:
            frozen, freezes = tree.frozen, tree.freezes
            if not frozen or freezes != tree.freezes_checked:
                tree.freezes_checked = freezes if frozen else 0
                with contextlib.suppress(Fault, OSError):
                    self.check(tree, family)
        with contextlib.suppress(Fault, OSError):
            self.check_machine(trees)

    def check(self, tree: Tree, family: Family | None) -> None:
        if tree.log:
            tree.log.check()
        if tree.is_client and tree.container is None:
            return
        pids = tree.members(family)
        if (left := tree.left(pids)) is not None:
            self.end(tree, f"left_cgroup: process {left} left the cgroup of its tree")
        if len(pids) > tree.limits["processes"]:
            self.end(
                tree, f"process_limit: {len(pids)} processes, limit {tree.limits['processes']}"
            )
        limit_bytes = tree.limits["memory_bytes"] or MEMORY_SHARE_MAX * self.memory_total_bytes
        if limit_bytes and sum(map(resident_bytes, pids)) > limit_bytes:
            memory_bytes, _ = tree.memory()
            if memory_bytes > limit_bytes:
                self.end(tree, f"memory_limit: {gib(memory_bytes)}, limit {gib(limit_bytes)}")

    def check_machine(self, trees: list[Tree]) -> None:
        """End the largest tree if the machine is nearly out of memory and the tree is a cause."""
        meminfo = keyed(read_text("/proc/meminfo"))
        left_bytes = 1024 * meminfo.get("MemAvailable", meminfo.get("MemTotal", 0))
        least_bytes = MEMORY_SHARE_LEFT_MIN * self.memory_total_bytes
        if left_bytes >= least_bytes or not trees:
            return
        sizes = [sum(map(resident_bytes, tree.members())) for tree in trees]
        size_bytes, tree = max(zip(sizes, trees), key=lambda pair: pair[0])  # noqa: B905
        if size_bytes > least_bytes:
            reading = (
                f"{gib(size_bytes)}, the largest tree when the machine had {gib(left_bytes)} left"
            )
            self.end(tree, f"memory_limit: {reading}")

    def end(self, tree: Tree, limit: str) -> None:
        if not tree.ended.is_set():
            tree.limit = tree.limit or limit
        outside = tree.outside()
        tree.end_processes()
        kill_all(outside)
