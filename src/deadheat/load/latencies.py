"""The engine's mode `latencies`: a line asks for those of the machine (docs/engine-slices.md)."""

from dataclasses import dataclass
from typing import Any

from deadheat.load.base import GeneratorFailed
from deadheat.load.engine import BINARY
from deadheat.load.slices import object_of

CORE_TO_CORE, MEMORY = "core_to_core_ns", "memory_ns"


@dataclass(frozen=True, slots=True)
class Latencies:
    """How long a cache line takes from one CPU to another, and a read of memory, in nanoseconds.

    None where something disturbed the reading.
    """

    core_to_core_ns: float | None = None
    memory_ns: float | None = None


def read_latencies_ready(line: str) -> None:
    """Check the first line. Raises `GeneratorFailed`."""
    if object_of(line).get("ready") is not True:
        raise GeneratorFailed(f"{BINARY} is not ready to read latencies: {line[:200]}")


def read_latencies(line: str) -> Latencies:
    """The answer to a line. Raises `GeneratorFailed`."""
    answer = object_of(line)
    for name in (CORE_TO_CORE, MEMORY):
        if name not in answer:
            raise GeneratorFailed(f"{BINARY} printed no {name}: {line[:200]}")
    return Latencies(_known(answer[CORE_TO_CORE]), _known(answer[MEMORY]))


def _known(reading: Any) -> float | None:
    return None if reading is None else float(reading)
