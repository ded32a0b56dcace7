"""The heap of the agent."""

from __future__ import annotations

import contextlib
import ctypes

M_ARENA_MAX = -8  # malloc.h of glibc


def share_heap() -> None:
    """Let all threads use one heap. Without glibc, do nothing.

    glibc gives its threads up to eight heaps a CPU. Each request has a thread, so in a race of
    hours every heap in turn grew to the size of the largest answer.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
