"""How the agent starts other processes of this package."""

from __future__ import annotations

import os
import re
import sys

AGENT_PATH = os.path.dirname(__file__)  # noqa: PTH120 (a path inside an archive, perhaps)
_ARCHIVE = re.match(r"/proc/self/fd/(\d+)/", AGENT_PATH)
ARCHIVE_FDS = [int(_ARCHIVE.group(1))] if _ARCHIVE else []  # which a new process has to inherit


def own_command(*arguments: str) -> list[str]:
    """The command of a program of this package: `--launch FD` or `--keep CGROUP`."""
    return [sys.executable, "-I", "-S", AGENT_PATH, *arguments]
