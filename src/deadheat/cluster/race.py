"""A cluster run: starts each job on a pair of hosts, and keeps what comes back."""

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deadheat import __version__
from deadheat.cluster.cluster import Cluster, Ending
from deadheat.cluster.combine import measured_names
from deadheat.cluster.dispatch import Dispatch
from deadheat.cluster.hosts import HostPair, Node
from deadheat.cluster.job import TOGETHER_MAX, Job, jobs_of
from deadheat.cluster.record import (
    ClusterRecord,
    HostRecord,
    PairRecord,
    RayGate,
    RunRecord,
    write_record,
)
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress

RAY_CPU_SHARE_MAX = 0.01  # of a host's CPUs, as for steal


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What a cluster run is to do. `words` are options of `deadheat run` for every run."""

    servers: tuple[str, ...]
    shared: tuple[str, ...]
    words: tuple[str, ...]
    command: tuple[str, ...]
    margin: float
    confidence: float
    together: int = TOGETHER_MAX

    @property
    def own(self) -> tuple[str, ...]:
        """The servers that run on one pair of hosts alone."""
        return tuple(name for name in self.servers if name not in self.shared)


class ClusterRace:
    """Carries out a plan on a cluster; `folder` gets the record and the bundles."""

    def __init__(
        self,
        plan: ClusterPlan,
        cluster: Cluster,
        left_over: Sequence[Node],
        folder: Path,
        listen: Listener,
    ) -> None:
        self._plan, self._cluster, self._folder, self._listen = plan, cluster, folder, listen
        self._jobs: dict[int, Job] = {}  # by the index of the pair
        self._dispatch = Dispatch(
            jobs_of(plan.own, len(cluster.pairs), plan.together), len(cluster.pairs)
        )
        self.record = ClusterRecord(
            started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            state="running",
            deadheat_version=__version__,
            command=plan.command,
            servers=plan.servers,
            shared=plan.shared,
            margin=plan.margin,
            confidence=plan.confidence,
            pairs=tuple(_pair_record(pair) for pair in cluster.pairs),
            left_over=tuple(_host_record(node) for node in left_over),
        )

    def run(self) -> ClusterRecord:
        """Run every job; returns the record, which is in the folder too.

        An interrupt ends it, and what was measured stays. Raises `DeadheatError` if no pair of
        hosts is left and nothing was measured.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._ending():
            while True:
                for place, job in self._dispatch.starts():
                    self._start(place, job)
                if not self._dispatch.running:
                    break
                self._take(self._cluster.next_ending())
        if not any(run.bundle for run in self.record.runs):
            errors = ["", *(run.error for run in self.record.runs if run.error)]
            raise DeadheatError(
                f"no run measured anything; the last error: {errors[-1] or 'a host died'}",
                f"{self._folder} has the errors of all runs",
            )
        return self.record

    @contextmanager
    def _ending(self) -> Iterator[None]:
        state = "failed"
        self._update()
        try:
            yield
            state = "failed" if self._dispatch.waiting else "complete"
        except KeyboardInterrupt:
            state = "interrupted"
            self._listen(Event("interrupted: what was measured is kept", trouble=True))
        finally:
            unfinished = (*self._dispatch.given_up, *self._dispatch.waiting)
            running = [name for job in self._jobs.values() for name in job.servers]
            self._update(state=state, given_up=tuple(dict.fromkeys((*unfinished, *running))))

    def _start(self, place: int, job: Job) -> None:
        pair, names = self._cluster.pairs[place], (*job.servers, *self._plan.shared)
        self._jobs[place] = job
        self._listen(Event(f"{pair}: {', '.join(names)}"))
        self._cluster.start(pair, (*names, *self._plan.words))
        self._progress()

    def _take(self, ending: Ending) -> None:
        """Keep the bundle of a run; servers that it did not measure go back into the queue."""
        place = self._cluster.pairs.index(ending.pair)
        job = self._jobs.pop(place)
        names = (*job.servers, *self._plan.shared)
        bundle, done = self._keep(ending), ending.exit_code == 0
        measured = measured_names(self._folder / bundle) if bundle and not done else set()
        unmeasured = () if done and bundle else tuple(n for n in names if n not in measured)
        if ending.lost is not None:
            returned = self._dispatch.lost(place, unmeasured)
            self._lose(ending.pair, ending.lost)
        else:
            failed = len(unmeasured) == len(names)
            returned = self._dispatch.ended(place, unmeasured, failed)
            if self._dispatch.retire(place):
                self._lose(ending.pair, "its runs failed one after another")
        if returned:
            self._listen(Event(f"back in the queue: {', '.join(returned)}", trouble=True))
        if ending.error:
            self._listen(Event(f"{ending.pair}: {ending.error}", trouble=True))
        gates = tuple(
            RayGate(role=each.role, reading=each.ray_cpu_share, threshold=RAY_CPU_SHARE_MAX)
            for each in ending.shares
        )
        run = RunRecord(
            job=job.number,
            attempt=job.attempt,
            pair=ending.pair.number,
            servers=job.servers,
            exit_code=ending.exit_code,
            bundle=bundle,
            error=ending.error,
            unmeasured=unmeasured,
            gates=gates,
        )
        self._update(runs=(*self.record.runs, run))
        self._progress()

    def _keep(self, ending: Ending) -> str | None:
        if ending.bundle is None:
            return None
        name = f"{len(self.record.runs) + 1:04}-pair-{ending.pair.number}.deadheat"
        (self._folder / name).write_bytes(ending.bundle)
        return name

    def _lose(self, pair: HostPair, why: str) -> None:
        self._listen(Event(f"{pair} is lost: {why}", trouble=True))
        pairs = tuple(
            each.model_copy(update={"lost": why}) if each.number == pair.number else each
            for each in self.record.pairs
        )
        self._update(pairs=pairs)

    def _progress(self) -> None:
        waiting = len(self._dispatch.waiting)
        running = self._dispatch.running
        self._listen(Progress(f"{running} runs under way, {waiting} servers wait"))

    def _update(self, **values: object) -> None:
        self.record = self.record.model_copy(update=values)
        write_record(self._folder, self.record)


def _host_record(node: Node) -> HostRecord:
    return HostRecord(name=node.name, address=node.address)


def _pair_record(pair: HostPair) -> PairRecord:
    server, load = _host_record(pair.server), _host_record(pair.load)
    return PairRecord(number=pair.number, server=server, load=load)
