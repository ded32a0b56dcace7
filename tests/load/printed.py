"""Captured output of the load generators, from `output/`."""

from dataclasses import replace
from pathlib import Path

from deadheat.host import Completed
from deadheat.load import LoadSpec

OUTPUT = Path(__file__).with_name("output")
SPEC = LoadSpec("http://127.0.0.1:18100/", connections=10, duration_s=1.0)
GREETED = replace(SPEC, expect_body="Hello, World!")


def completed(stdout: str = "", stderr: str = "", exit_code: int | None = 0) -> Completed:
    return Completed(exit_code, stdout, stderr, elapsed_s=1.0, cpu_s=0.5)


def printed(name: str, exit_code: int = 0) -> Completed:
    return completed((OUTPUT / name).read_text(), exit_code=exit_code)
