"""The processes of one disturbed run: which part each plays, and what it left behind."""

import os
import select
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from deadheat.host.agent.cgroup import cgroup_candidates
from deadheat.host.agent.kernel import numbered, read_text, start_ticks
from deadheat.host.agent.listeners import listening_sockets, sockets_of

MARK = "DEADHEAT_FAULT"  # an environment variable, which every process of a run inherits
ASKS = b"[Y/n]"
DRAIN_S = 0.05
PARTS = ("agent", "engine", "master", "worker", "control")


class Terminal(threading.Thread):
    """A pseudo-terminal: keeps what is written to it, and says yes to each question."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ours, self.theirs = os.openpty()
        self._closes = threading.Event()
        self._text = b""
        self.start()

    def run(self) -> None:
        while not self._closes.is_set():
            if not select.select([self._ours], [], [], DRAIN_S)[0]:
                continue
            try:
                piece = os.read(self._ours, 1 << 16)
            except OSError:  # nobody has it open any more
                break
            self._text += piece
            if ASKS in piece:
                os.write(self._ours, b"y\n")
        os.close(self._ours)

    def close(self) -> str:
        """Hang up, as a window that is closed; returns all that was written."""
        self._closes.set()
        self.join()
        return self._text.decode(errors="replace")


def children(pid: int) -> list[int]:
    """The children of all threads of a process (proc_pid_task_children(5))."""
    lists = (read_text(task / "children") for task in Path(f"/proc/{pid}/task").glob("*"))
    return [int(child) for text in lists if text for child in text.split()]


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    pids = [pid]
    for each in pids:
        pids.extend(children(each))
    return pids


def command_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def part_of(command: list[str], parent: list[str]) -> str | None:
    """The part of a process by its command and its parent's, or None."""

    def serves(words: list[str]) -> bool:
        return any(word.endswith("answer.py") for word in words)

    if serves(command):
        return "worker" if serves(parent) else "master"
    if any(word.endswith("/host/agent") for word in command):
        return None if {"--launch", "--keep"} & {*command} else "agent"
    if "--null-server" in command:
        return "control"
    return "engine" if "--slices" in command else None


def parts(cli: int) -> dict[str, list[int]]:
    """The processes below the command by part."""
    by_part: dict[str, list[int]] = {part: [] for part in PARTS}
    commands: dict[int, list[str]] = {cli: []}
    for pid in (pids := [cli]):
        for child in children(pid):
            commands[child] = command_of(child)
            pids.append(child)
            if (part := part_of(commands[child], commands[pid])) is not None:
                by_part[part].append(child)
    return by_part


def marked(mark: str) -> list[int]:
    """The living processes that inherited this mark."""
    wanted = f"{MARK}={mark}".encode()
    pids = []
    for pid in numbered(Path("/proc")):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if wanted in environment.split(b"\0") and start_ticks(pid) is not None:
            pids.append(pid)
    return pids


@dataclass(frozen=True, slots=True)
class Traces:
    """What a run holds while it is disturbed: inodes of listening sockets, names of cgroups."""

    sockets: frozenset[int]
    cgroups: frozenset[str]

    @classmethod
    def of(cls, cli: int) -> "Traces":
        listening = listening_sockets()
        pids = tree(cli)
        held = (sockets_of(pid) or set() for pid in pids)
        space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 (a link to no file)
        names = frozenset(f"deadheat-{space}-{pid}-{start_ticks(pid)}" for pid in pids)
        return cls(frozenset(set().union(*held) & set(listening)), names)

    def left(self) -> list[str]:
        """Those that still exist."""
        sockets = self.sockets & set(listening_sockets())
        cgroups = {path.name for path in _cgroups(self.cgroups)}
        return [*(f"socket {inode}" for inode in sockets), *(f"cgroup {c}" for c in cgroups)]


def _cgroups(names: Iterable[str]) -> list[Path]:
    folders = list(cgroup_candidates())
    return [folder / name for folder in folders for name in names if (folder / name).exists()]
