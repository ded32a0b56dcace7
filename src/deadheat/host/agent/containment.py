"""The way in which trees are contained on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from .cgroup import claim_cgroup, remove_cgroup
from .cgroup_tree import CgroupTree
from .fault import Fault, Json
from .init_tree import InitTree
from .keeper import Keeper
from .tree import Tree

CONTAINMENTS = ("cgroup-v2", "pid-namespace", "subreaper")


class Containment:
    """Starts trees, contained in the first way that worked when the agent started."""

    def __init__(self, wanted: str | None) -> None:
        self.cgroup: str | None = None
        self.keeper: Keeper | None = None
        self.started = 0
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
        defaults: Json = {"cwd": None, "env": {}, "cpus": None, "open_files": None}
        defaults["stdin_fd"] = None
        defaults["limits"] = {}
        defaults["client"] = defaults["limited"] = False
        full = dict(defaults, **spec, cgroup=cgroup, containment=self.name)
        return (CgroupTree if cgroup else InitTree)(full, stdout, stderr)

    def keep(self, tree: Tree) -> None:
        """Let a container end with the agent; it is outside the agent's cgroup."""
        if self.keeper and isinstance(tree, CgroupTree):
            self.keeper.add(tree.path)

    def close(self) -> None:
        if self.cgroup:
            remove_cgroup(self.cgroup)
        if self.keeper:
            self.keeper.close()

    @property
    def memory_source(self) -> str:
        exact = self.cgroup and Path(self.cgroup, "memory.peak").exists()
        return "cgroup" if exact else "sampled PSS"
