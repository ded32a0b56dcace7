"""Ends the agent if the other side falls silent, as it does if the link is cut."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

CHECKS = 10  # in the time of a silence


class Silence(threading.Thread):
    """Calls `end` and leaves the process after `limit_s` without a call of `hear`."""

    def __init__(self, limit_s: float, end: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.limit_s = limit_s
        self.end = end
        self.heard_s = time.monotonic()

    def hear(self) -> None:
        self.heard_s = time.monotonic()

    def run(self) -> None:
        while time.monotonic() - self.heard_s < self.limit_s:
            time.sleep(self.limit_s / CHECKS)
        try:
            self.end()
        finally:
            os._exit(1)
