"""`Writer`: the process that writes a run and has to end it, and whether it still exists."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE = Path("/proc/self/ns/pid")
STATES = {"alive": "running", "gone": "lost", "unknown": "unended"}  # of a run without an end


@dataclass(frozen=True, slots=True)
class Writer:
    """A process. Its start tells it from a later process with the same number.

    `start_ticks` is field 22 of /proc/PID/stat (proc(5)), counted since the machine started.
    """

    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int

    @classmethod
    def this_process(cls) -> Self:
        pid = os.getpid()
        return cls(*_here(), pid, _start_ticks(pid) or 0)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def state(self) -> Literal["alive", "gone", "unknown"]:
        """`unknown` if its number means nothing here: another machine, boot or container."""
        if (self.boot_id, self.pid_namespace) != _here():
            return "unknown"
        return "alive" if _start_ticks(self.pid) == self.start_ticks else "gone"


def run_state(state: str, writer: str) -> str:
    """A run's state from its columns `state` and `writer`.

    A run that is stored as `running` is `lost` if its process is gone, and `unended` if that
    process cannot be seen from here.
    """
    return STATES[Writer(**json.loads(writer)).state()] if state == "running" else state


def _here() -> tuple[str, str]:
    return BOOT_ID.read_text(encoding="ascii").strip(), str(PID_NAMESPACE.readlink())


def _start_ticks(pid: int) -> int | None:
    """None for a process that has ended, or is a zombie. Its name may hold any character."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
