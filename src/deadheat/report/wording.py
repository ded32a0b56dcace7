"""What reports call a machine, a level, and a run without an end."""

from collections.abc import Mapping
from typing import Any

from deadheat import numbers
from deadheat.foreign_text import one_line
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


def machine(fingerprint: Mapping[str, Any]) -> str:
    """A host in one line."""
    cpu = fingerprint.get("cpu", {})
    parts = [str(cpu.get("model") or "unknown processor")]
    if logical := cpu.get("logical"):
        parts.append(numbers.count(logical, "CPU"))
    if memory := fingerprint.get("memory_total_bytes"):
        parts.append(f"{numbers.gibibytes(memory)} GiB")
    if cpu.get("virtual_machine"):
        parts.append("virtual machine")
    if cpu.get("idle", {}).get("wake_up_us") is not None:
        parts.append("idle CPUs kept awake")
    parts += [str(fingerprint[key]) for key in ("os", "kernel") if fingerprint.get(key)]
    return one_line(", ".join(parts))
