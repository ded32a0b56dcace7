"""Notices when this process itself did not run: another one stopped it, or the machine slept."""

import threading
import time

TICK_S = 0.25
STANDSTILL_S = 3.0  # between two ticks: longer than a busy machine makes a thread wait


class Standstills(threading.Thread):
    """Notes the end of each standstill, until the process ends."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ends_s: list[float] = []
        self.start()

    def run(self) -> None:
        last_s = time.monotonic()
        while True:
            time.sleep(TICK_S)
            now_s = time.monotonic()
            if now_s - last_s > STANDSTILL_S:
                self._ends_s.append(now_s)
            last_s = now_s

    def any_since(self, begun_s: float) -> bool:
        time.sleep(2 * TICK_S)  # for the tick after a standstill
        return any(end_s > begun_s for end_s in self._ends_s)
