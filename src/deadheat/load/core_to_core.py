"""The engine's core-to-core mode: each line asks for a reading (docs/engine.md)."""

from deadheat.load.base import GeneratorFailed
from deadheat.load.engine import BINARY
from deadheat.load.slices import object_of

CORE_TO_CORE = "core_to_core_ns"


def read_core_to_core_ready(line: str) -> None:
    """Check the first line. Raises `GeneratorFailed`."""
    if object_of(line).get("ready") is not True:
        raise GeneratorFailed(f"{BINARY} is not ready to read core-to-core latency: {line[:200]}")


def read_core_to_core(line: str) -> float | None:
    """The reading; None where something disturbed it. Raises `GeneratorFailed`."""
    answer = object_of(line)
    if CORE_TO_CORE not in answer:
        raise GeneratorFailed(f"{BINARY} printed no {CORE_TO_CORE}: {line[:200]}")
    reading = answer[CORE_TO_CORE]
    return None if reading is None else float(reading)
