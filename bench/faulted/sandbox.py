"""`Sandbox`: the home, the catalog and the environment in which runs are disturbed."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.faulted.processes import MARK
from deadheat.host.agent.cgroup import cgroup_of
from deadheat.load import find_engine

HERE = Path(__file__).parent
CATALOG = HERE / "catalog"
DISK_BYTES = 232 << 20  # deadheat asks for 200 MiB
AS_USER = (
    *("unshare", "--user", "--map-user=1000", "--map-group=1000"),
    *("--pid", "--fork", "--kill-child", "--mount-proc"),
)
MEMORY = (  # where a cgroup with a limit of memory can be, and the file of the limit
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)
UNFINISHED = (".part", ".tar", "-journal")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Private folders, and a mark that every process started in it inherits."""

    root: Path
    mark: str
    kind: str = "signal"  # of `matrix.KINDS`
    clock: Path | None = None  # the file with the offset of the time of day

    @property
    def prefix(self) -> tuple[str, ...]:
        """What stands before a command: an unprivileged user, in a PID namespace."""
        return AS_USER if self.kind == "user" else ()

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def store(self) -> Path:
        return self.home / "runs.sqlite"

    @property
    def temporary(self) -> Path:
        return self.root / "temporary"

    @property
    def repository(self) -> Path:
        return self.root / "repository"

    @property
    def environment(self) -> dict[str, str]:
        here = Path(sys.executable).parent
        values = {
            **{k: v for k, v in os.environ.items() if not k.startswith("DEADHEAT_")},
            "DEADHEAT_HOME": str(self.home),
            "DEADHEAT_CATALOG": str(CATALOG),
            "DEADHEAT_LOAD": find_engine(),
            "TMPDIR": str(self.temporary),
            "HOME": str(self.root),
            "PATH": f"{here}:{os.environ['PATH']}",
            MARK: self.mark,
        }
        if self.clock is not None:
            values |= {"LD_PRELOAD": str(self.root / "clock.so"), "FAULT_CLOCK": str(self.clock)}
        return values

    def starve(self, pid: int, size_bytes: int) -> bool:
        """Let the kernel kill a process when it needs so much more; False if it has ended."""
        root, limit = _memory_cgroups() or MEMORY[0]
        folder = root / self._cgroup
        folder.mkdir(exist_ok=True)
        (folder / limit).write_text(str(size_bytes))
        try:
            (folder / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            return False
        return True

    @property
    def _cgroup(self) -> str:
        return f"deadheat-faults-{self.mark}"

    def end_cgroups(self) -> None:
        for root, _ in MEMORY:
            if (root / self._cgroup).exists():
                (root / self._cgroup).rmdir()

    def fill_disk(self) -> None:
        """Write until the disk of the home is full."""
        with (self.home / "filler").open("wb", buffering=0) as file:
            block = bytes(1 << 16)
            try:
                while file.write(block):
                    pass
            except OSError:
                return

    def free_disk(self) -> None:
        (self.home / "filler").unlink(missing_ok=True)

    def step_clock(self, step_s: int) -> None:
        """Set the offset of the time of day for all processes of the sandbox."""
        assert self.clock is not None
        self.clock.touch()
        with self.clock.open("r+b", buffering=0) as file:
            file.write(step_s.to_bytes(8, sys.byteorder, signed=True))

    def unfinished(self) -> list[str]:
        """Files that should not be there after a run that ended well."""
        left = list(self.temporary.iterdir())
        left += [path for path in self.home.rglob("*") if path.name.endswith(UNFINISHED)]
        left += [path for path in self.home.glob("*-wal") if path.stat().st_size]
        for build in (*self.home.glob("builds/*/*"), *self.home.glob("revisions/*")):
            finished = (build.with_suffix(suffix).exists() for suffix in (".json", ".done"))
            if build.is_dir() and not any(finished):
                left.append(build)
        return [f"file {path.relative_to(self.root)}" for path in sorted(left)]


@contextmanager
def sandbox(root: Path, kind: str) -> Iterator[Sandbox]:
    """A sandbox for faults of one kind: see `matrix.KINDS`."""
    clock = root / "offset" if kind == "clock" else None
    made = Sandbox(root, uuid.uuid4().hex, kind, clock)
    for folder in (made.home, made.temporary):
        folder.mkdir(parents=True)
    if kind == "clock":
        made.step_clock(0)
        _call("cc", "-shared", "-fPIC", "-o", root / "clock.so", HERE / "clock.c", "-ldl")
    if kind == "regress":
        _make_repository(made)
    if kind == "disk":
        _call("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "faults", made.home)
    try:
        yield made
    finally:
        made.end_cgroups()
        if kind == "disk":
            _call("umount", "--lazy", made.home)
        shutil.rmtree(root, ignore_errors=True)


def refusal(kind: str) -> str | None:
    """Why this machine cannot have a sandbox of this kind; None if it can."""
    if kind == "disk" and os.geteuid() != 0:
        return "a small disk needs root"
    if kind == "escape" and (os.geteuid() != 0 or cgroup_of("self") is None):
        return "leaving a cgroup needs root and cgroups v2"
    if kind == "oom" and (os.geteuid() != 0 or _memory_cgroups() is None):
        return "a limit of memory needs root and a cgroup"
    if kind == "user" and subprocess.run([*AS_USER, "true"], capture_output=True).returncode != 0:
        return "this machine does not let a user make a namespace"
    tool = {"clock": "cc", "regress": "git"}.get(kind)
    return f"{tool} is not installed" if tool and shutil.which(tool) is None else None


def _memory_cgroups() -> tuple[Path, str] | None:
    """Where this machine has cgroups with a limit of memory; None if nowhere."""
    if (MEMORY[0][0] / MEMORY[0][1]).exists():
        return MEMORY[0]
    controllers = MEMORY[1][0] / "cgroup.subtree_control"
    return MEMORY[1] if controllers.exists() and "memory" in controllers.read_text() else None


def _make_repository(made: Sandbox) -> None:
    source = CATALOG / "servers" / "alpha" / "answer.py"
    git = ("git", "-C", made.repository, "-c", "user.name=x", "-c", "user.email=x@localhost")
    made.repository.mkdir()
    _call(*git, "init", "-q")
    for text in ("", "# changed\n"):
        (made.repository / "answer.py").write_text(source.read_text() + text)
        _call(*git, "add", ".")
        _call(*git, "commit", "-q", "-m", "version")


def _call(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
