"""What the programs of this package share: their errors, their limits, how one starts another."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict  # noqa: UP035 (for 3.8)

Json = Dict[str, Any]  # noqa: UP006
LOG_BYTES_MAX = 8 << 20  # default limit of a log
TAG = "DEADHEAT_TREE"  # an environment variable: the name of the agent, and of the tree
LEFT_RUNNING = 3  # exit code of an agent that could not end every process
PROCESSES_MAX = 4096  # default limit of one tree
MEMORY_SHARE_MAX = 0.5  # of the machine's memory: default limit of one tree
AGENT_PATH = os.path.dirname(__file__)  # noqa: PTH120 (a path inside an archive, perhaps)
_ARCHIVE = re.match(r"/proc/self/fd/(\d+)/", AGENT_PATH)
ARCHIVE_FDS = [int(_ARCHIVE.group(1))] if _ARCHIVE else []  # which a new process has to inherit


class Fault(Exception):
    """An error that the agent reports to the harness: message and hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> Json:
        return {"message": self.message, "hint": self.hint}


def own_command(*arguments: str) -> list[str]:
    """The command of a program of this package: `--launch FD` or `--keep CGROUP`."""
    return [sys.executable, "-I", "-S", AGENT_PATH, *arguments]
