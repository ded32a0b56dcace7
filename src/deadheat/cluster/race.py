"""A cluster run: which job runs on which pair of hosts, and what comes back of it."""

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from deadheat.cluster.result import (
    ClusterRecord,
    ClusterRun,
    HostPair,
    measured_names,
    write_record,
)
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress

ATTEMPTS_MAX = 3  # of a contender
FAILURES_MAX = 2  # in a row, before a pair of hosts gets no further job


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run on a pair of hosts ended.

    `lost` says why if a host died; then the pair gets no further run. `bundle` can be there anyway,
    with what was measured. `ray_cpu`: see `ClusterRun`.
    """

    pair: HostPair
    exit_code: int | None = None
    bundle: bytes | None = None
    error: str = ""
    ray_cpu: Mapping[str, float] = field(default_factory=dict)
    lost: str | None = None


class Cluster(Interface):
    """Hosts on which runs are started: the seam to what places them. Ray is behind it."""

    def start(self, pair: HostPair, words: Sequence[str]) -> None:
        """Start `deadheat run WORDS` on a pair. The server host is added where it is another."""

    def next_ending(self) -> Ending:
        """Wait until a run that was started ends, or its hosts are lost."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do. `servers` are its own, without the shared ones; `attempt` counts from 1."""

    number: int
    servers: tuple[str, ...]
    attempt: int = 1


def jobs_of(servers: Sequence[str], pairs: int, together: int) -> tuple[Job, ...]:
    """The servers in runs of like size, at most `together` each.

    Their number is a multiple of `pairs` if there are servers enough, so no pair of hosts waits for
    the last run. Neighbors in the list are spread: they often are of one language and alike slow.
    Without servers, there is a run of the shared ones on each pair.
    """
    if not servers:
        return tuple(Job(place + 1, ()) for place in range(pairs))
    count = min(math.ceil(len(servers) / (pairs * together)) * pairs, len(servers))
    return tuple(Job(place + 1, tuple(servers[place::count])) for place in range(count))


class Dispatch:
    """Hands out jobs to idle pairs of hosts, which are numbered from 0 here.

    It knows no clock and no network. Contenders that a run did not measure go back into the queue,
    and are given up after `ATTEMPTS_MAX`. `failures` has the pairs that still get jobs.
    """

    def __init__(self, jobs: Sequence[Job], pairs: int) -> None:
        self._queue = deque(jobs)
        self._next_number = len(jobs) + 1
        self.running: dict[int, Job] = {}
        self.failures = dict.fromkeys(range(pairs), 0)  # in a row
        self.given_up: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """The contenders that wait for a pair of hosts."""
        return tuple(name for job in self._queue for name in job.servers)

    def starts(self) -> list[tuple[int, Job]]:
        """Jobs to start now, each with its pair. They count as running."""
        starts = []
        for pair in sorted(self.failures, key=lambda pair: (self.failures[pair], pair)):
            if pair not in self.running and self._queue:
                self.running[pair] = self._queue.popleft()
                starts.append((pair, self.running[pair]))
        return starts

    def ended(
        self, pair: int, unmeasured: Collection[str], failed: bool = False, lost: bool = False
    ) -> tuple[str, ...]:
        """A run ended, or a host of its pair died. Returns the contenders that are queued again."""
        job = self.running.pop(pair)
        self.failures[pair] = self.failures[pair] + 1 if failed else 0
        if lost or self.failures[pair] >= FAILURES_MAX:
            del self.failures[pair]
        names = tuple(name for name in job.servers if name in unmeasured)
        if not names and (job.servers or not unmeasured):  # a job of shared contenders has no own
            return ()
        if job.attempt >= ATTEMPTS_MAX:
            self.given_up += names
            return ()
        self._queue.append(Job(self._next_number, names, job.attempt + 1))
        self._next_number += 1
        return names


class ClusterRace:
    """Carries out a new record on its pairs of hosts; `folder` gets it, and the bundles."""

    def __init__(
        self, record: ClusterRecord, cluster: Cluster, folder: Path, listen: Listener
    ) -> None:
        self.record, self._cluster, self._folder, self._listen = record, cluster, folder, listen
        own = [name for name in record.servers if name not in record.shared]
        jobs = jobs_of(own, len(record.pairs), record.together)
        self._dispatch = Dispatch(jobs, len(record.pairs))

    def run(self) -> ClusterRecord:
        """Run every job; returns the record, which is in the folder too.

        An interrupt ends it, and what was measured stays. Raises `DeadheatError` if no pair of
        hosts is left and nothing was measured.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._update()
        state, dispatch = "failed", self._dispatch
        try:
            while self._start_all():
                self._take(self._cluster.next_ending())
            state = "failed" if dispatch.waiting else "complete"
        except KeyboardInterrupt:
            state = "interrupted"
            self._listen(Event("interrupted: what was measured is kept", trouble=True))
        finally:
            running = [name for job in dispatch.running.values() for name in job.servers]
            missing = (*dispatch.given_up, *dispatch.waiting, *running)
            self._update(state=state, given_up=tuple(dict.fromkeys(missing)))
        if not any(run.bundle for run in self.record.runs):
            errors = ["", *(run.error for run in self.record.runs if run.error)]
            raise DeadheatError(
                f"no run measured anything; the last error: {errors[-1] or 'a host died'}",
                f"{self._folder} has the errors of all runs",
            )
        return self.record

    def _start_all(self) -> bool:
        """Start what can be started; returns whether any run is under way."""
        for place, job in self._dispatch.starts():
            pair, names = self.record.pairs[place], (*job.servers, *self.record.shared)
            self._listen(Event(f"pair {pair.number}: {', '.join(names)}"))
            self._cluster.start(pair, (*names, *self.record.words))
        running, waiting = len(self._dispatch.running), len(self._dispatch.waiting)
        self._listen(Progress(f"{running} runs under way, {waiting} servers wait"))
        return running > 0

    def _take(self, ending: Ending) -> None:
        """Keep the bundle of a run; servers that it did not measure go back into the queue."""
        place = ending.pair.number - 1
        job, pair = self._dispatch.running[place], f"pair {ending.pair.number}"
        names = (*job.servers, *self.record.shared)
        bundle, measured = None, set[str]()
        if ending.bundle is not None:
            bundle = f"{len(self.record.runs) + 1:04}-pair-{ending.pair.number}.deadheat"
            (self._folder / bundle).write_bytes(ending.bundle)
            done = ending.exit_code == 0
            measured = {*names} if done else measured_names(self._folder / bundle)
        unmeasured = tuple(name for name in names if name not in measured)
        failed = len(unmeasured) == len(names)
        again = self._dispatch.ended(place, unmeasured, failed, ending.lost is not None)
        if place not in self._dispatch.failures:
            why = ending.lost or "its runs failed one after another"
            self._listen(Event(f"{pair} is lost: {why}", trouble=True))
            pairs = list(self.record.pairs)
            pairs[place] = ending.pair.model_copy(update={"lost": why})
            self._update(pairs=tuple(pairs))
        if again:
            self._listen(Event(f"back in the queue: {', '.join(again)}", trouble=True))
        if ending.error:
            self._listen(Event(f"{pair}: {ending.error}", trouble=True))
        run = ClusterRun(
            job=job.number,
            attempt=job.attempt,
            pair=ending.pair.number,
            servers=job.servers,
            exit_code=ending.exit_code,
            bundle=bundle,
            error=ending.error,
            ray_cpu=dict(ending.ray_cpu),
        )
        self._update(runs=(*self.record.runs, run))

    def _update(self, **values: Any) -> None:
        self.record = self.record.model_copy(update=values)
        write_record(self._folder, self.record)
