"""Parallel builds of many servers, before any measurement."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Server, selection
from deadheat.events import Board, Event, Listener, Progress
from deadheat.host import Host

BUILD_MEMORY_BYTES = 2 << 30  # a Scala or Rust compiler may need this much


def jobs_that_fit(host: Host) -> int:
    """One build for each CPU, limited by 2 GiB of available memory for each; at least one."""
    cpus = len(host.fingerprint().cpu.allowed)
    sample = host.unwatch(host.watch((), 1.0))[-1]
    return max(1, min(cpus, sample.memory_available_bytes // BUILD_MEMORY_BYTES))


def build_ahead(
    servers: Sequence[Server], host: Host, builder: Builder, listen: Listener, jobs: int
) -> list[Candidate]:
    """Prepare the servers, `jobs` at a time; returns one candidate for each, in their order.

    A server that cannot be built is reported and does not delay the others. After an interrupt no
    further build begins, and running builds end with the host.
    """
    site = _Site(host, builder, listen, len(servers))
    pool = ThreadPoolExecutor(jobs)
    places = _recipes_apart(servers)
    try:
        candidates = pool.map(site.build, [servers[place] for place in places])
        by_place = dict(zip(places, candidates, strict=True))
        return [by_place[place] for place in range(len(servers))]
    finally:
        site.close()
        pool.shutdown(wait=False, cancel_futures=True)


def _recipes_apart(servers: Sequence[Server]) -> list[int]:
    """The places of the servers: one of each recipe first, then a second of each, and so on.

    Two builds of one recipe at the same time would both fill the same cache with the same files.
    """
    earlier = Counter[str]()
    turns = []
    for server in servers:
        recipe = server.manifest.recipe or server.name
        turns.append(earlier[recipe])
        earlier[recipe] += 1
    return sorted(range(len(servers)), key=lambda place: turns[place])


class _Site:
    """The builds in progress; reports one event at a time."""

    def __init__(self, host: Host, builder: Builder, listen: Listener, servers: int) -> None:
        self._host = host
        self._builder = builder
        self._listen = listen
        self._servers = servers
        self._done = 0
        self._building: list[str] = []
        self._open = True
        self._lock = threading.Lock()

    def build(self, server: Server) -> Candidate:
        with self._lock:
            self._building.append(server.name)
            progress = Progress(f"building {', '.join(self._building)}", self._done, self._servers)
            self._report(progress)
        (candidate,) = prepare([selection(server)], self._host, self._builder, self._report_event)
        with self._lock:
            self._building.remove(server.name)
            self._done += 1
        return candidate

    def close(self) -> None:
        """Stop reporting: a build that an interrupt ended is not a failure."""
        with self._lock:
            self._open = False

    def _report_event(self, event: Progress | Event | Board) -> None:
        if isinstance(event, Event):
            with self._lock:
                self._report(event)

    def _report(self, event: Progress | Event | Board) -> None:
        if self._open:
            self._listen(event)
