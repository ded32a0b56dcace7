"""A reader of one run's page in `deadheat serve`, as a browser that stays open."""

import contextlib
import socket
import threading
from typing import Any, Self

from bench.served import Served


class PageReader:
    """Fetches the page and the document again and again, and follows the events, in two threads.

    Faults are the errors of its requests, as text.
    """

    def __init__(self, served: Served, run_id: str, interval_s: float) -> None:
        self.fetched = self.bytes = self.events = 0
        self.faults: list[str] = []
        self._served = served
        self._path = f"/runs/{run_id}"
        self._interval_s = interval_s
        self._over = threading.Event()
        self._stream = served.open(f"{self._path}/events")
        self._threads = [threading.Thread(target=each) for each in (self._fetch, self._follow)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with contextlib.suppress(OSError):  # it is closed where the run has ended
            self._stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._stream.close()

    def to_json(self) -> dict[str, Any]:
        return {
            "fetched": self.fetched,
            "bytes": self.bytes,
            "events": self.events,
            "faults": self.faults,
        }

    def _fetch(self) -> None:
        while not self._over.is_set():
            for path in (self._path, f"{self._path}/document", "/"):
                try:
                    self.bytes += self._served.get_bytes(path)
                    self.fetched += 1
                except (OSError, RuntimeError) as error:
                    self.faults.append(f"{path}: {error}")
            self._over.wait(self._interval_s)

    def _follow(self) -> None:
        """Count the events. A race that measures nothing new for a while sends none."""
        self._stream.settimeout(None)
        with self._stream.makefile("rb") as lines:
            for line in lines:
                self.events += line.startswith(b"data: ")
