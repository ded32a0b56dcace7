"""Helpers of the tests with real processes."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from deadheat.host import ProcessSpec

PAUSE_S_MIN, PAUSE_S_MAX = 0.01, 0.2


def python(code: str, *arguments: str, **options: object) -> ProcessSpec:
    """A command that runs Python code without site packages, which starts faster."""
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return ProcessSpec(command, **options)  # type: ignore[arg-type]


def log(folder: Path) -> str:
    return str(folder / "log.txt")


def eventually(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait for an effect of another process; fail after `within_s`.

    The pauses grow with the time waited: the question may read all of /proc or a whole run.
    """
    begun_s = time.monotonic()
    while not holds():
        waited_s = time.monotonic() - begun_s
        assert waited_s < within_s, f"not within {within_s} s"
        time.sleep(min(max(PAUSE_S_MIN, waited_s / 10), PAUSE_S_MAX))
