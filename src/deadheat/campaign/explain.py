"""After a race: each contender starts again, and what it does for a request is counted.

User and system time, switches, packets and bytes are those of the race itself. Threads are read
beside a load without tools. What slows a server down, strace for system calls and perf for stacks,
attaches to an instance that runs and is warm already, in loads of their own: no rate and no CPU
time comes from them, nor from an instance whose garbage collector traces what it allocates.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain

from deadheat.campaign.allocations import (
    GO_HEAP,
    READINGS_MIN,
    TRACE_LAG_S,
    TRACED_LANGUAGES,
    TRACES,
    allocated_per_s,
    read_traces,
)
from deadheat.campaign.heat import Heat
from deadheat.campaign.run import RaceContext
from deadheat.campaign.standings import Standings
from deadheat.errors import DeadheatError
from deadheat.events import Event, Progress
from deadheat.host import Host, HostError, ProcessSpec, ThreadTime
from deadheat.load import LoadResult
from deadheat.load.engine import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance
from deadheat.measure.footprint import threads_of
from deadheat.measure.listening import is_known
from deadheat.measure.load_process import LoadProcess, load_slice
from deadheat.measure.starter import Starter
from deadheat.measure.trial import per_request_figures
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.measure.world import World
from deadheat.store import TrialRecord
from deadheat.store.json_columns import Explained, ThreadGroup
from deadheat.store.rows import EXPLAINED, STACKS
from deadheat.workload import Level

STRACE = "apt-get install strace"
PERF = "apt-get install linux-perf (Debian) or linux-tools-generic (Ubuntu)"
TRACED_S, SAMPLED_S = 1.5, 1.5  # of load
ALLOCATING_S = (1.5, 6.0)  # of load: the second if the first has too few collections
ATTACH_S, DETACH_S, READ_S, ASKED_S = 15.0, 15.0, 60.0, 10.0
POLL_S = 0.05
PERF_START_S = 0.5  # it does not say when it has begun
SAMPLES_PER_S = 499  # of each CPU
LOG_BYTES_MAX, TRACE_BYTES_MAX = 1 << 16, 1 << 20
KERNEL = 1 << 63  # addresses from here on are the kernel's
OF_KERNEL = "_[k]"  # as inferno marks a frame of the kernel
UNKNOWN = "[unknown]"
# What makes a runtime say where its compiled code is, as perf expects it.
PERF_MAPS = {
    "NODE_OPTIONS": "--perf-basic-prof",
    "PYTHONPERFSUPPORT": "1",
    "JAVA_TOOL_OPTIONS": "-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
    "-XX:+DumpPerfMapAtExit",
}
JOINTS = {"GODEBUG": ","}  # of the options in a variable; others have a space


def require(host: Host, tool: str, what: str, install: str) -> None:
    """Raises `DeadheatError` if the tool is missing on the host."""
    try:
        host.run(ProcessSpec([tool, "--version"]), ASKED_S)
    except HostError as error:
        raise DeadheatError(f"{what} left out: {tool} is missing", install) from error


def traced_calls(
    world: World, instance: Instance, load: LoadProcess
) -> tuple[dict[str, float], LoadResult]:
    """System calls per request by name, and the load in which strace counted them.

    The instance runs, and its connections are open. Raises `DeadheatError`.
    """
    host = world.server_host
    require(host, "strace", "system calls are", STRACE)
    pids = _pids(host, instance)
    log_path = str(world.logs / f"strace-{instance.port}.log")
    command = ["strace", "-f", "-c", *chain(*(("-p", str(pid)) for pid in pids))]

    def attached(log: str) -> bool:
        return log.count(" attached") >= len(pids)

    with _beside(host, command, log_path, attached):
        result = load_slice(world, load, SliceRequest(TRACED_S, discard_s=0.0))
    requests = result.requests_sent_in_all or 0
    counts = read_summary(host.read_tail(log_path, LOG_BYTES_MAX))
    if not requests or not counts:
        raise DeadheatError("system calls are left out: no request was answered under strace")
    return {name: round(count / requests, 4) for name, count in counts.items()}, result


def read_summary(text: str) -> dict[str, int]:
    """System calls by name, the most first, in the table that `strace -c` writes."""
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) in (5, 6) and fields[3].isdigit() and fields[-1] != "total":
            counts[fields[-1]] += int(fields[3])
    return dict(counts.most_common())


def with_options(contender: Contender, options: Mapping[str, str]) -> Contender:
    """As it is started for a tool: with these options of runtimes, after its own."""
    joined = {
        name: JOINTS.get(name, " ").join(filter(None, (contender.env.get(name), text)))
        for name, text in options.items()
    }
    return replace(contender, env={**contender.env, **joined})


def allocated_bytes(world: World, instance: Instance, load: LoadProcess) -> float:
    """Heap bytes that a request allocates, under load; its runtime traces. Raises `DeadheatError`.

    What is allocated between two readings, per second, over the rate of the load.
    """
    host = world.server_host
    for duration_s in ALLOCATING_S:
        host.sleep(TRACE_LAG_S)
        before = read_traces(host.read_tail(instance.log_path, TRACE_BYTES_MAX))
        if not before:
            raise DeadheatError(
                "allocations are left out: its log has no trace of Go's, Java's or Node.js's "
                "garbage collector"
            )
        result = load_slice(world, load, SliceRequest(duration_s, discard_s=0.0))
        after = read_traces(host.read_tail(instance.log_path, TRACE_BYTES_MAX))
        per_s = allocated_per_s(before, after)
        if per_s is not None and result.rate_per_s:
            return round(per_s / result.rate_per_s, 1)
    raise DeadheatError(
        f"allocations are left out: fewer than {READINGS_MIN} collections in "
        f"{ALLOCATING_S[-1]:.0f} s of load"
    )


def record_stacks(
    world: World, instance: Instance, load: LoadProcess
) -> Callable[[], Counter[str]]:
    """Sample the stacks under load. The result reads them, once the instance has ended.

    The JVM writes its map at its end. Raises `DeadheatError`.
    """
    host = world.server_host
    require(host, "perf", "a flame graph is", PERF)
    pids = _pids(host, instance)
    data, log_path = (str(world.logs / f"perf-{instance.port}.{end}") for end in ("data", "log"))
    sampling = ["-e", "cpu-clock", "-F", str(SAMPLES_PER_S), "-g", "-o", data]
    command = ["perf", "record", *sampling, "-p", ",".join(map(str, pids))]
    begun_s = host.now_s()

    def sampled(_: str) -> bool:
        return host.now_s() - begun_s >= PERF_START_S

    with _beside(host, command, log_path, sampled):
        load_slice(world, load, SliceRequest(SAMPLED_S))

    def read() -> Counter[str]:
        script = ["perf", "script", "-i", data, "-F", "comm,ip,sym", "--max-stack", "127"]
        done = host.run(ProcessSpec(script), READ_S)
        if done.exit_code != 0:
            raise DeadheatError(f"perf script failed: {_last_line(done.stderr)}")
        stacks = folded(done.stdout, instance.contender.cwd)
        host.run(ProcessSpec(["rm", "-f", data, *(f"/tmp/perf-{pid}.map" for pid in pids)]), READ_S)
        return stacks

    return read


def folded(script: str, folder: str | None = None) -> Counter[str]:
    """Samples by stack, as `thread;outermost;...;innermost`, from the text of `perf script`.

    Frames in a row that perf cannot name are one. Paths begin in `folder`, that of the server.
    """
    stacks: Counter[str] = Counter()
    if folder is not None:
        script = script.replace(f"file://{folder}/", "").replace(f"{folder}/", "")
    for sample in re.split(r"\n\s*\n", script):
        head, *lines = sample.strip("\n").splitlines() or [""]
        frames: list[str] = []
        for address, _, symbol in (line.strip().partition(" ") for line in lines):
            mark = OF_KERNEL if int(address, 16) >= KERNEL else ""
            frame = re.sub(r"[;\s]+", " ", symbol.strip() or UNKNOWN) + mark
            if frame != UNKNOWN or frames[-1:] != [UNKNOWN]:
                frames.append(frame)
        if frames:
            stacks[";".join([head.strip().replace(";", " "), *reversed(frames)])] += 1
    return stacks


def _pids(host: Host, instance: Instance) -> list[int]:
    return sorted(pid for pid, _ in host.members(instance.process))


@contextmanager
def _beside(
    host: Host, command: Sequence[str], log_path: str, has_begun: Callable[[str], bool]
) -> Iterator[None]:
    """Run a tool that has begun by now, until it is interrupted. Raises `DeadheatError`."""
    process = host.start(ProcessSpec(command), log_path)
    try:
        end_s = host.now_s() + ATTACH_S
        while True:
            is_over = host.alive(process) is not None or host.now_s() > end_s
            if has_begun(log := host.read_tail(log_path, LOG_BYTES_MAX)):
                break
            if is_over:  # its last words are in the log, which was read after its end
                raise DeadheatError(
                    f"{command[0]} cannot attach to the server ({_last_line(log)}): run deadheat "
                    "as root, or allow it: sudo sysctl -w kernel.yama.ptrace_scope=0 "
                    "kernel.perf_event_paranoid=1",
                )
            host.sleep(POLL_S)
        yield
    finally:
        host.stop(process, "SIGINT", DETACH_S)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1][:200]


EXPLAIN = "explain"  # the kind of its trials
WATCHED_S = 1.0  # of load, while threads are watched
RENEWAL_S = 0.1  # of load before it, which renews the connections
STACKS_MAX = 5000  # different ones that are kept, the most frequent first


class Explainer:
    """Explains the contenders of a race, one after the other."""

    def __init__(self, run: RaceContext, invocation: int) -> None:
        self._run = run
        self._invocation = invocation
        self._extra = 0  # instances of a contender that were started for a tool
        self._starter = Starter(
            *(run.world, run.protocol, run.store, run.listen),
            keeps_loads=True,
            has_place=lambda _: True,
        )

    def explain_all(self, standings: Standings) -> None:
        """Explain each that races, on its first workload; the store has a trial for each.

        A run that goes on has some of them already.
        """
        explained = {name for name, trial in self._run.past.trials if trial.kind == EXPLAIN}
        for entered in self._run.entered_contenders:
            name = entered.contender.name
            if name in standings.names and name not in explained:
                self._explain(entered)

    def _explain(self, entered: EnteredContender) -> None:
        name, self._extra = entered.contender.name, 0
        with Heat(self._run.world, self._starter, lambda *_: None) as heat:
            warm = heat.start(entered, self._invocation, self._run.now_s())
            if warm is None:
                return
            self._run.listen(Progress(f"counting what {name} does for a request"))
            record, explained = self._counted(warm)
        try:
            explained = replace(explained, allocated_bytes=self._allocated(entered))
        except DeadheatError as error:
            explained = _without(explained, error)
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
        before, threads = lifecycle.usage(world, instance), threads_of(world, instance)
        result = load_slice(world, load, SliceRequest(WATCHED_S, discard_s=0.0))
        after, threads_after = lifecycle.usage(world, instance), threads_of(world, instance)
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
        context = self._run.trial_context(warm, level.workload, EXPLAIN, block=1)
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

    def _allocated(self, entered: EnteredContender) -> float | None:
        """Of an instance that traces its garbage collector; no time comes from it."""
        contender = entered.contender
        if contender.url is not None:
            return None
        if contender.language not in (None, *TRACED_LANGUAGES):
            raise DeadheatError(
                "allocations are left out: only Go, the JVM and Node.js tell them for free"
            )
        if contender.image is not None:
            raise DeadheatError("allocations are left out: it runs in a container")
        started = replace(contender, env={**contender.env, **GO_HEAP})
        with self._started(entered, started, TRACES, "allocations are") as (instance, load):
            return allocated_bytes(self._run.world, instance, load)

    def _stacks(self, entered: EnteredContender) -> Counter[str]:
        """Samples by stack, of an instance whose runtime names its compiled code."""
        contender = entered.contender
        if contender.url is not None:
            return Counter()
        require(self._run.world.server_host, "perf", "a flame graph is", PERF)
        if contender.image is not None:
            raise DeadheatError("a flame graph is left out: it runs in a container")
        with self._started(entered, contender, PERF_MAPS, "a flame graph is") as (instance, load):
            read = record_stacks(self._run.world, instance, load)
        return read()

    @contextmanager
    def _started(
        self,
        entered: EnteredContender,
        contender: Contender,
        options: Mapping[str, str],
        what: str,
    ) -> Iterator[tuple[Instance, LoadProcess]]:
        """One more instance, warm and loaded a moment ago. Raises `DeadheatError`."""
        self._extra += 1
        with_them = replace(entered, contender=with_options(contender, options))
        with Heat(self._run.world, self._starter, lambda *_: None) as heat:
            warm = heat.start(with_them, self._invocation + self._extra, self._run.now_s())
            if warm is None:
                raise DeadheatError(f"{what} left out: it did not start with {', '.join(options)}")
            self._run.listen(Progress(f"counting what {contender.name} does for a request"))
            lifecycle.thaw(self._run.world, warm.instance)
            load = warm.loads[self._level(warm.entered)]
            load_slice(self._run.world, load, SliceRequest(RENEWAL_S, renew=True))
            yield warm.instance, load

    def _level(self, entered: EnteredContender) -> Level:
        """The most connections of the first workload that it answers."""
        levels = entered.contender.levels_of(self._run.protocol)
        return max(level for level in levels if level.workload == levels[0].workload)


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
