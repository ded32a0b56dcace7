"""`Dispatch`: which job runs on which pair of hosts next. It knows no clock and no network."""

from collections import deque
from collections.abc import Collection, Sequence

from deadheat.cluster.job import Job

ATTEMPTS_MAX = 3  # of a contender
FAILURES_MAX = 2  # in a row, before a pair of hosts gets no further job


class Dispatch:
    """Hands out jobs to idle pairs of hosts, which are numbered from 0.

    Contenders that a run did not measure go back into the queue, and are given up after
    `ATTEMPTS_MAX`. `given_up` names them.
    """

    def __init__(self, jobs: Sequence[Job], pairs: int) -> None:
        self._waiting = deque(jobs)
        self._running: dict[int, Job] = {}
        self._failures = dict.fromkeys(range(pairs), 0)
        self._next_number = max((job.number for job in jobs), default=0) + 1
        self.given_up: list[str] = []

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The contenders that wait for a pair of hosts."""
        return tuple(name for job in self._waiting for name in job.servers)

    @property
    def pairs_left(self) -> int:
        return len(self._failures)

    def starts(self) -> list[tuple[int, Job]]:
        """Jobs to start now, each with its pair. They count as running."""
        starts = []
        for pair in sorted(self._failures, key=lambda pair: (self._failures[pair], pair)):
            if pair not in self._running and self._waiting:
                self._running[pair] = self._waiting.popleft()
                starts.append((pair, self._running[pair]))
        return starts

    def ended(self, pair: int, unmeasured: Collection[str], failed: bool) -> tuple[str, ...]:
        """A run ended. Returns the contenders that go back into the queue."""
        job = self._running.pop(pair)
        self._failures[pair] = self._failures[pair] + 1 if failed else 0
        return self._put_back(job, unmeasured)

    def retire(self, pair: int) -> bool:
        """Give a pair no further job if it failed too often; returns whether it did."""
        if self._failures.get(pair, 0) < FAILURES_MAX:
            return False
        del self._failures[pair]
        return True

    def lost(self, pair: int, unmeasured: Collection[str]) -> tuple[str, ...]:
        """A host of a pair died. Returns the contenders that go back into the queue."""
        job = self._running.pop(pair)
        del self._failures[pair]
        return self._put_back(job, unmeasured)

    def _put_back(self, job: Job, unmeasured: Collection[str]) -> tuple[str, ...]:
        names = tuple(name for name in job.servers if name in unmeasured)
        if not names and (job.servers or not unmeasured):  # a job of shared contenders has no own
            return ()
        if job.attempt >= ATTEMPTS_MAX:
            self.given_up += names
            return ()
        self._waiting.append(Job(self._next_number, names, job.attempt + 1))
        self._next_number += 1
        return names
