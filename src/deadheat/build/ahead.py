"""Building many servers at once, ahead of any measurement."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Server, selection
from deadheat.events import Event, Listener, Progress
from deadheat.host import Host

BUILD_MEMORY_BYTES = 2 << 30  # what a Scala or Rust compiler may want


def jobs_that_fit(host: Host) -> int:
    """A build for each CPU, as long as each has 2 GiB of the memory available; at least one."""
    cpus = len(host.fingerprint()["cpu"]["allowed"])
    now = host.unwatch(host.watch((), 1.0))[-1]
    return max(1, min(cpus, now.memory_available_bytes // BUILD_MEMORY_BYTES))


def build_ahead(
    servers: Sequence[Server], host: Host, builder: Builder, listen: Listener, jobs: int
) -> list[Candidate]:
    """Prepare the servers, `jobs` at a time; the answer is in their order, whichever ended first.

    One that cannot be built is told and holds up no other. Where this is interrupted, no further
    build begins, and those that go on end with the host.
    """
    site = _Site(host, builder, listen, len(servers))
    pool = ThreadPoolExecutor(jobs)
    try:
        return list(pool.map(site.build, servers))
    finally:
        site.close()
        pool.shutdown(wait=False, cancel_futures=True)


class _Site:
    """What is being built right now, told one event at a time."""

    def __init__(self, host: Host, builder: Builder, listen: Listener, servers: int) -> None:
        self._host = host
        self._builder = builder
        self._listen = listen
        self._servers = servers
        self._done = 0
        self._at_work: list[str] = []
        self._open = True
        self._lock = threading.Lock()

    def build(self, server: Server) -> Candidate:
        with self._lock:
            self._at_work.append(server.name)
            doing = Progress(f"building {', '.join(self._at_work)}", self._done, self._servers)
            self._tell(doing)
        (candidate,) = prepare([selection(server)], self._host, self._builder, self._happened)
        with self._lock:
            self._at_work.remove(server.name)
            self._done += 1
        return candidate

    def close(self) -> None:
        """Nothing is told from here on: builds that an interrupt ended are no failures."""
        with self._lock:
            self._open = False

    def _happened(self, event: Progress | Event) -> None:
        if isinstance(event, Event):
            with self._lock:
                self._tell(event)

    def _tell(self, event: Progress | Event) -> None:
        if self._open:
            self._listen(event)
