"""After a race: each contender starts again, and what it does for a request is counted.

User and system time, switches, packets and bytes are those of the race itself. Threads are read
beside a load without tools; system calls and stacks come from loads of their own.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace

from deadheat.campaign.heat import Heat
from deadheat.campaign.run import RaceContext
from deadheat.campaign.standings import Standings
from deadheat.campaign.trials import TrialRunner
from deadheat.errors import DeadheatError
from deadheat.events import Event, Progress
from deadheat.host import HostError, ThreadTime
from deadheat.load.engine import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.lifecycle import Instance
from deadheat.measure.listening import is_known
from deadheat.measure.load_process import load_slice
from deadheat.measure.starter import Starter
from deadheat.measure.tracing import PERF, record_stacks, require, traced_calls, with_perf_maps
from deadheat.measure.trial import per_request_figures
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.measure.world import World
from deadheat.store import TrialRecord
from deadheat.store.json_columns import Explained, ThreadGroup
from deadheat.store.rows import EXPLAINED, STACKS
from deadheat.workload import Level

EXPLAIN = "explain"  # the kind of its trials
WATCHED_S = 1.0  # of load, while threads are watched
RENEWAL_S = 0.1  # of load before it, which renews the connections
STACKS_MAX = 5000  # different ones that are kept, the most frequent first


class Explainer:
    """Explains the contenders of a race, one after the other."""

    def __init__(self, run: RaceContext, trials: TrialRunner, invocation: int) -> None:
        self._run = run
        self._trials = trials
        self._invocation = invocation
        self._starter = Starter(run.world, run.protocol, run.store, run.listen, keeps_loads=True)

    def explain_all(self, standings: Standings) -> None:
        """Explain each that races, on its first workload; the store has a trial for each."""
        for entered in self._run.entered_contenders:
            if standings.races(entered.contender.name):
                self._explain(entered)

    def _explain(self, entered: EnteredContender) -> None:
        name = entered.contender.name
        with Heat(self._run.world, self._starter, lambda *_: None) as heat:
            warm = heat.start(entered, self._invocation, self._run.now_s())
            if warm is None:
                return
            self._run.listen(Progress(f"counting what {name} does for a request"))
            record, explained = self._counted(warm)
        stacks: Counter[str] = Counter()
        try:
            stacks = self._stacks(entered)
        except DeadheatError as error:
            explained = _without(explained, error)
        for text in explained.left_out:
            self._run.listen(Event(f"{name}: {text}", trouble=True))
        kept = [list(pair) for pair in stacks.most_common(STACKS_MAX)]
        result = {**record.result, EXPLAINED: asdict(explained)}
        series = {STACKS: kept} if kept else {}
        self._run.store.add_trial(replace(record, result=result, series=series))

    def _counted(self, warm: WarmInstance) -> tuple[TrialRecord, Explained]:
        """A trial without tools beside it, and what was counted in it and after it."""
        world, instance = self._run.world, warm.instance
        level = self._level(warm.entered)
        load = warm.loads[level]
        lifecycle.thaw(world, instance)
        load_slice(world, load, SliceRequest(RENEWAL_S, renew=True))
        before, threads = lifecycle.usage(world, instance), _threads(world, instance)
        result = load_slice(world, load, SliceRequest(WATCHED_S, discard_s=0.0))
        after, threads_after = lifecycle.usage(world, instance), _threads(world, instance)
        requests = result.requests_sent_in_all or 0
        explained = Explained(
            rate_per_s=result.rate_per_s,
            threads=thread_groups(threads, threads_after, requests),
            backlog=_backlog(world, instance),
        )
        try:
            if not instance.process:
                raise DeadheatError("system calls and a flame graph are left out: it runs already")
            calls, traced = traced_calls(world, instance, load)
            explained = replace(explained, calls=calls, traced_rate_per_s=traced.rate_per_s)
        except DeadheatError as error:
            explained = _without(explained, error)
        lifecycle.freeze(world, instance)
        context = self._trials.context(warm, level.workload, kind=EXPLAIN, block=1)
        record = TrialRecord.at(
            context,
            connections=level.connections,
            command=load.command,
            state="ok",
            rate_per_s=result.rate_per_s,
            requests_ok=result.requests_ok,
            elapsed_s=result.elapsed_s,
            result=per_request_figures((before, after), result),
            errors=result.errors,
        )
        return record, explained

    def _stacks(self, entered: EnteredContender) -> Counter[str]:
        """Samples by stack, of an instance whose runtime names its compiled code."""
        contender = entered.contender
        if contender.url is not None:
            return Counter()
        require(self._run.world.server_host, "perf", "a flame graph is", PERF)
        if contender.image is not None:
            raise DeadheatError("a flame graph is left out: it runs in a container")
        named = replace(entered, contender=with_perf_maps(contender))
        with Heat(self._run.world, self._starter, lambda *_: None) as heat:
            warm = heat.start(named, self._invocation + 1, self._run.now_s())
            if warm is None:
                raise DeadheatError("a flame graph is left out: it did not start for perf")
            self._run.listen(Progress(f"sampling the stacks of {contender.name}"))
            lifecycle.thaw(self._run.world, warm.instance)
            load = warm.loads[self._level(warm.entered)]
            load_slice(self._run.world, load, SliceRequest(RENEWAL_S, renew=True))
            read = record_stacks(self._run.world, warm.instance, load)
        return read()

    def _level(self, entered: EnteredContender) -> Level:
        """The most connections of the first workload that it answers."""
        return max(entered.contender.levels_of(self._run.protocol), key=self._place)

    def _place(self, level: Level) -> tuple[int, int]:
        return -self._run.protocol.workload_names.index(level.workload), level.connections


def thread_groups(
    before: Sequence[ThreadTime], after: Sequence[ThreadTime], requests: int
) -> tuple[ThreadGroup, ...]:
    """Threads that ran meanwhile, by name without its number; those that ran most come first."""
    ran_s = {(thread.pid, thread.id): thread.ran_s for thread in before}
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for thread in after:
        spent_s = thread.ran_s - ran_s.get((thread.pid, thread.id), 0.0)
        if spent_s > 0:
            groups[re.sub(r"\d+", "N", thread.name)].append(spent_s)
    sums = {name: math.fsum(times_s) for name, times_s in groups.items()}
    return tuple(
        ThreadGroup(
            name=name, threads=len(groups[name]), us_per_request=round(1e6 * spent_s / requests, 3)
        )
        for name, spent_s in sorted(sums.items(), key=lambda item: -item[1])
        if requests
    )


def _threads(world: World, instance: Instance) -> Sequence[ThreadTime]:
    try:
        process = instance.read_process
        return world.server_host.threads(process) if process else ()
    except HostError:  # the user has ended it
        return ()


def _backlog(world: World, instance: Instance) -> int | None:
    """The longest backlog of its listening sockets; None where the machine does not show it."""
    if not instance.process:
        return None
    listeners = world.server_host.listeners(instance.process, instance.port)
    if not is_known(listeners, instance.port, instance.host):
        return None
    known = [each.backlog for each in listeners.own if each.port == instance.port]
    return max((backlog for backlog in known if backlog is not None), default=None)


def _without(explained: Explained, error: DeadheatError) -> Explained:
    text = f"{error}; to install it: {error.hint}" if error.hint else str(error)
    return replace(explained, left_out=(*explained.left_out, text))
