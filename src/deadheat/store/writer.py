"""Who writes a run: the process that has to end it, and whether it is still there."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE = Path("/proc/self/ns/pid")


@dataclass(frozen=True, slots=True)
class Writer:
    """A process. Its number alone may have been given again; its start tells the two apart.

    `start_ticks` is field 22 of /proc/PID/stat (proc(5)), counted since the machine's start.
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
        """`unknown` where its number means nothing here: another machine, start or container."""
        if (self.boot_id, self.pid_namespace) != _here():
            return "unknown"
        return "alive" if _start_ticks(self.pid) == self.start_ticks else "gone"


def _here() -> tuple[str, str]:
    return BOOT_ID.read_text(encoding="ascii").strip(), str(PID_NAMESPACE.readlink())


def _start_ticks(pid: int) -> int | None:
    """None for a process that has ended, a zombie too. Its name may hold any character."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
