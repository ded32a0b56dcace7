"""Helpers of the tests with real processes."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from deadheat.host import ProcessSpec


def python(code: str, *arguments: str, **options: object) -> ProcessSpec:
    """A command that runs Python code without site packages, which starts faster."""
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return ProcessSpec(command, **options)  # type: ignore[arg-type]


def log(folder: Path) -> str:
    return str(folder / "log.txt")


def eventually(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait for an effect of another process; fail after `within_s`."""
    end_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end_s, f"not within {within_s} s"
        time.sleep(0.01)
