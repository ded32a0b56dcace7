"""Notices when this process itself did not run: another one stopped it, or the machine stood."""

import threading
import time

TICK_S = 0.25
STANDSTILL_S = 3.0  # between two ticks: longer than a busy machine makes a thread wait


class Standstills:
    """How long this process stood still since it first asked, on the monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_s: float | None = None
        self._total_s = 0.0

    def total_s(self) -> float:
        """All standstills so far. One that has just ended is in it, whichever thread runs first."""
        with self._lock:
            if self._last_s is None:
                self._last_s = time.monotonic()
                threading.Thread(target=self._tick, daemon=True).start()
            self._note()
            return self._total_s

    def _tick(self) -> None:
        while True:
            time.sleep(TICK_S)
            with self._lock:
                self._note()

    def _note(self) -> None:
        now_s = time.monotonic()
        gap_s = now_s - (self._last_s or now_s)
        if gap_s > STANDSTILL_S:
            self._total_s += gap_s
        self._last_s = now_s


STANDSTILLS = Standstills()  # of this process
