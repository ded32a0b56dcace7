"""Prepares contenders: builds their servers, several at a time, and reports missing tools."""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from deadheat.build.builder import Builder, BuildFailed, Built
from deadheat.catalog import Probe, Selection, Server, Toolchains, missing, selection
from deadheat.catalog.manifest import LanguageRuntime, Version
from deadheat.events import Board, Event, Listener, Progress
from deadheat.host import Host, HostError

VERSION_TIMEOUT_S = 30.0
BUILD_MEMORY_BYTES = 2 << 30  # a Scala or Rust compiler may need this much


@dataclass(frozen=True, slots=True)
class Candidate:
    """A contender with its build, or with the fault that prevented it."""

    selection: Selection
    built: Built | None
    version: str | None
    fault: str | None
    lacks: tuple[str, ...] = ()  # the commands that install the missing tools


def prepare(
    selections: Sequence[Selection], host: Host, builder: Builder, listen: Listener
) -> list[Candidate]:
    """Build each server. Reports and leaves out a contender that cannot be built."""
    toolchains = Toolchains(host)
    candidates: list[Candidate] = []
    failed: dict[str, Candidate] = {}
    for position, chosen in enumerate(selections):
        server = chosen.server
        listen(Progress(f"building {server.name}", position, len(selections)))
        if server.name in failed:
            candidates.append(replace(failed[server.name], selection=chosen))
            continue
        try:
            probes = builder.probes(toolchains, server)
            if lacking := missing(probes):
                raise _ToolsMissing(server.name, lacking, builder.place)
            built = builder.build(server, probes)
        except BuildFailed as error:
            lacks = error.installs if isinstance(error, _ToolsMissing) else ()
            failed[server.name] = Candidate(chosen, None, None, str(error), lacks)
            hint = f"\n  hint: {error.hint}" if error.hint else ""
            listen(Event(f"{error}{hint}", trouble=True))
            candidates.append(failed[server.name])
            continue
        if not built.cached:
            listen(Event(f"built {server.name} in {built.elapsed_s:.0f} s"))
        candidates.append(Candidate(chosen, built, ask_version(host, built), None))
    return candidates


def ask_version(host: Host, built: Built) -> str | None:
    """The framework's version according to the built server; None if unknown.

    A recipe's runtime adds its version: `12.1.14 on JDK 25.0.2`; an image, `in podman`.
    """
    version = shown = _reading(host, built, built.server.manifest.version)
    if version is None:
        return None
    if (runtime := built.server.runtime) is not None:
        runtime_version = _reading(host, built, runtime) or "unknown"
        if runtime_version != version:  # not the runtime's own server
            shown = f"{version} on {runtime.name} {runtime_version}"
    return f"{shown} in {built.image.tool.program}" if built.image else shown


def _reading(host: Host, built: Built, source: Version | LanguageRuntime) -> str | None:
    try:
        completed = host.run(built.process(source.command), VERSION_TIMEOUT_S)
    except HostError:
        return None
    match = re.search(source.pattern, completed.stdout + completed.stderr)
    return match.group(1) if match and completed.exit_code == 0 else None


class _ToolsMissing(BuildFailed):
    """Tools are missing; `installs` are the commands that install them."""

    def __init__(self, name: str, lacking: Sequence[Probe], place: str) -> None:
        self.installs = tuple(dict.fromkeys(probe.need.install for probe in lacking))
        faults = "; ".join(probe.fault or "" for probe in lacking)
        super().__init__(
            f"{name} is left out: {faults}{place}",
            f"install it{place}: {' && '.join(self.installs)}",
        )


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
    site = _Builds(host, builder, listen, len(servers))
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


class _Builds:
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
