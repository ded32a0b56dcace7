"""What reports call a machine, a level, and a run without an end."""

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.host.fingerprint import Fingerprint
from deadheat.workload import HELLO

UNENDED = {
    "running": "the run is still under way",
    "lost": "the run ended without a conclusion (its process is gone)",
    "unended": "the run has no recorded end; this machine cannot see whether it is still under way",
}


def load(workload: str, connections: int) -> str:
    """A level in a table: `1,000`, or `route, 1,000`."""
    name = "" if workload == HELLO else f"{one_line(workload, 40)}, "
    return f"{name}{connections:,}"


def machine(fingerprint: Fingerprint) -> str:
    """A host in one line."""
    cpu = fingerprint.cpu
    parts = [
        cpu.model or "unknown processor",
        numbers.count(cpu.logical, "CPU"),
        f"{numbers.gibibytes(fingerprint.memory_total_bytes)} GiB",
    ]
    if cpu.virtual_machine:
        parts.append("virtual machine")
    if cpu.idle.wake_up_us is not None:
        parts.append("idle CPUs kept awake")
    parts += [text for text in (fingerprint.os, fingerprint.kernel) if text]
    return one_line(", ".join(parts))
