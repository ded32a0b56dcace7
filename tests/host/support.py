"""Helpers of the tests with real processes."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from deadheat.host import ProcessSpec
from deadheat.host.agent.kernel import start_ticks

HARNESS = """
import sys
from deadheat.host import ProcessSpec
from deadheat.host.local import LocalHost
host = LocalHost(sys.argv[1])
process = host.start(ProcessSpec(sys.argv[3:]), sys.argv[2])
print(host._agent.pid, flush=True)
for request in sys.stdin:
    getattr(host, request.strip())(process)
    print("done", flush=True)
"""
PAUSE_S_MIN, PAUSE_S_MAX = 0.01, 0.2


def python(code: str, *arguments: str, **options: object) -> ProcessSpec:
    """A command that runs Python code without site packages, which starts faster."""
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return ProcessSpec(command, **options)  # type: ignore[arg-type]


def log(folder: Path) -> str:
    return str(folder / "log.txt")


def start_harness(
    containment: str, spec: ProcessSpec, folder: Path
) -> tuple[subprocess.Popen[str], int]:
    """A process that owns an agent and has it start the command; and the agent's PID.

    The process carries out each line that it gets, such as `freeze`.
    """
    words = [sys.executable, "-c", HARNESS, containment, log(folder), *spec.command]
    pipe = subprocess.PIPE
    harness = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1)
    assert harness.stdout is not None
    return harness, int(harness.stdout.readline())


def living(marks: Path) -> list[str]:
    """The PIDs of the marks (files named after a PID, with its start) of living processes."""
    return [m.name for m in marks.iterdir() if str(start_ticks(int(m.name))) == m.read_text()]


def eventually(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait for an effect of another process; fail after `within_s`.

    The pauses grow with the time waited: the question may read all of /proc or a whole run.
    """
    begun_s = time.monotonic()
    while not holds():
        waited_s = time.monotonic() - begun_s
        assert waited_s < within_s, f"not within {within_s} s"
        time.sleep(min(max(PAUSE_S_MIN, waited_s / 10), PAUSE_S_MAX))
