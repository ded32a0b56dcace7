"""Default limits of a process tree."""

from __future__ import annotations

LOG_BYTES_MAX = 8 << 20  # default limit of a log
PROCESSES_MAX = 4096  # default limit of one tree
MEMORY_SHARE_MAX = 0.5  # of the machine's memory: default limit of one tree
