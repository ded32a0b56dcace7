"""A scripted host with a virtual clock, to test campaigns without processes."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from deadheat.host import (
    Completed,
    Exchange,
    Exited,
    HostError,
    Listener,
    Listeners,
    ProcessSpec,
    RunningServer,
    Sample,
    ThreadTime,
    Usage,
)
from deadheat.host.fingerprint import Fingerprint, IdleState, Processor

Matches = Callable[[Sequence[str]], bool]  # whether a rule applies to a command


FINGERPRINT = Fingerprint(
    cpu=Processor(
        model="fake",
        logical=2,
        allowed=(0, 1),
        smt_active=None,
        siblings={},
        packages=1,
        governors=(),
        turbo=None,
        virtual_machine=None,
        mitigations={},
        idle=IdleState(driver="fake", wake_up_us=None, hindrance=None),
    ),
    memory_total_bytes=8 << 30,
    architecture="fake",
    kernel="fake",
    os=None,
    clocksource=None,
    open_files_soft=1 << 20,
    open_files_hard=1 << 20,
    sysctl={},
    containment="fake",
    memory_source="fake",
    load_average=(0.0, 0.0, 0.0),
    python="3",
)


@dataclass(frozen=True, slots=True)
class FakeServer:
    """How a started command behaves: `answer` maps a request to a response, as bytes."""

    answer: Callable[[bytes], bytes] = lambda _: b""
    ready_after_s: float = 0.0  # connections are refused until then
    dies_after_s: float | None = None  # since its start; None: it runs until it is stopped
    exit_code: int = 0
    log: str = ""
    deaf: bool = False  # it ignores signals and has to be killed
    usage: Usage = field(default_factory=lambda: Usage(0.0, 1 << 20, 1 << 20, 1, 1))
    listeners: Listeners | None = None  # None: it listens on its port, and no other process does
    watchdog_s: float | None = None  # it replaces a worker that was frozen for longer
    compiler_busy: float | None = None  # compiler threads that run on average; None: it has none


@dataclass(slots=True)
class FakeProcess:
    spec: ProcessSpec
    server: FakeServer
    log_path: str
    started_s: float
    frozen: bool = False
    frozen_at_s: float = 0.0
    workers_replaced: int = 0
    exited: Exited | None = None
    members: frozenset[tuple[int, int]] = frozenset({(1, 1)})
    compiler_cpus: Sequence[int] | None = ()  # as last placed; None: all of the host

    def listens_on(self, port: int) -> bool:
        words = [*self.spec.command, *self.spec.env.values()]
        return any(str(port) in word for word in words)


Runs = Callable[["FakeHost", ProcessSpec], Completed]
Answers = Callable[["FakeHost", ProcessSpec, str | None], str]
Starts = Callable[["FakeHost", ProcessSpec], FakeServer]
Rule = TypeVar("Rule")


class FakeHost:
    """Implements `Host` by rules; of the rules that match a command the last one added applies.

    `sleep` and `run` advance `now_s()` without waiting. `calls` lists (method, arguments) in order.
    A command without a rule is a program that is not installed.
    """

    containment = "fake"

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.processes: dict[str, FakeProcess] = {}
        self._now_s = 0.0
        self._runs: list[tuple[Matches, Runs]] = []
        self._starts: list[tuple[Matches, Starts]] = []
        self._asks: list[tuple[Matches, Answers]] = []
        self._watches: dict[str, tuple[float, float, tuple[str, ...]]] = {}
        self.wake_up_us: int | None = None  # what idle CPUs are held to
        self.running: dict[tuple[str, int], RunningServer] = {}  # of the user
        self.drops: int | None = 0  # of the listen queues; a test raises it
        self._ports = itertools.count(20_000)
        self._numbers = itertools.count(1)

    def on_run(self, matches: Matches, runs: Runs) -> None:
        self._runs.insert(0, (matches, runs))

    def on_start(self, matches: Matches, starts: Starts) -> None:
        self._starts.insert(0, (matches, starts))

    def on_ask(self, matches: Matches, answers: Answers) -> None:
        self._asks.insert(0, (matches, answers))

    def fingerprint(self) -> Fingerprint:
        idle = IdleState(driver="fake", wake_up_us=self.wake_up_us, hindrance=None)
        cpu = FINGERPRINT.cpu.model_copy(update={"idle": idle})
        return FINGERPRINT.model_copy(update={"cpu": cpu})

    def keep_awake(self) -> None:
        self.wake_up_us = 0

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        self.calls.append(("run", spec))
        completed = rule_for(self._runs, spec)(self, spec)
        if completed.elapsed_s > timeout_s:
            completed = replace(completed, exit_code=None, elapsed_s=timeout_s)
        self._now_s += completed.elapsed_s
        return completed

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        self.calls.append(("start", spec))
        server = rule_for(self._starts, spec)(self, spec)
        process = str(next(self._numbers))
        self.processes[process] = FakeProcess(spec, server, log_path, self._now_s)
        return process

    def converse(self, spec: ProcessSpec, log_path: str) -> str:
        self.calls.append(("converse", spec))
        rule_for(self._asks, spec)
        process = str(next(self._numbers))
        self.processes[process] = FakeProcess(spec, FakeServer(), log_path, self._now_s)
        return process

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        self.calls.append(("ask", line))
        spec = self._process(process).spec
        return rule_for(self._asks, spec)(self, spec, line)

    def compiler_busy_s(self, process: str) -> float | None:
        fake = self._process(process)
        busy = fake.server.compiler_busy
        return None if busy is None else busy * (self._now_s - fake.started_s)

    def place_compiler(self, process: str, cpus: Sequence[int] | None) -> None:
        self._process(process).compiler_cpus = cpus

    def alive(self, process: str) -> Exited | None:
        fake = self._process(process)
        lived_s, dies_s = self._now_s - fake.started_s, fake.server.dies_after_s
        if fake.exited is None and dies_s is not None and lived_s >= dies_s:
            fake.exited = Exited(fake.server.exit_code, dies_s, survivors=0, killed=False)
        return fake.exited

    def cpu_s(self, process: str) -> float:
        return self.usage(process).cpu_s

    def usage(self, process: str) -> Usage:
        return self._process(process).server.usage

    def listen_drops(self) -> int | None:
        return self.drops

    def listeners(self, process: str, port: int) -> Listeners:
        fake = self._process(process)
        if self._now_s - fake.started_s < fake.server.ready_after_s:
            return Listeners([], [], complete=True)
        scripted = fake.server.listeners
        return scripted or Listeners([Listener("127.0.0.1", port, "fake")], [], complete=True)

    def find_running(self, address: tuple[str, int]) -> RunningServer | None:
        return self.running.get(address)

    def members(self, process: str) -> frozenset[tuple[int, int]]:
        """The scripted processes and one worker, which a watchdog replaces."""
        fake = self._process(process)
        if fake.server.watchdog_s is None:
            return fake.members
        return fake.members | {(100 * int(process) + 1 + fake.workers_replaced, 1)}

    def threads(self, process: str) -> list[ThreadTime]:
        """One thread, which runs a quarter of the time."""
        fake = self._process(process)
        return [ThreadTime(1, 1, "worker-1", 0.25 * (self._now_s - fake.started_s))]

    def adopt(self, process: str, pid: int) -> None:
        self.calls.append(("adopt", (process, pid)))
        self._process(process)

    def freeze(self, process: str) -> None:
        self.calls.append(("freeze", process))
        fake = self._process(process)
        fake.frozen, fake.frozen_at_s = True, self._now_s

    def thaw(self, process: str) -> None:
        self.calls.append(("thaw", process))
        fake = self._process(process)
        watchdog_s = fake.server.watchdog_s
        if fake.frozen and watchdog_s is not None:
            fake.workers_replaced += self._now_s - fake.frozen_at_s > watchdog_s
        fake.frozen = False

    def stop(self, process: str, signal: str, deadline_s: float) -> Exited:
        self.calls.append(("stop", process))
        fake = self._process(process)
        exited = self.alive(process)
        if exited is None:
            deaf = fake.server.deaf
            self._now_s += deadline_s if deaf else 0.0
            code = None if deaf else fake.server.exit_code
            exited = Exited(code, self._now_s - fake.started_s, survivors=int(deaf), killed=deaf)
            fake.exited = exited
        return exited

    def watch(self, processes: Sequence[str], interval_s: float) -> str:
        watch = str(next(self._numbers))
        self._watches[watch] = (self._now_s, interval_s, tuple(processes))
        return watch

    def unwatch(self, watch: str) -> list[Sample]:
        started_s, interval_s, processes = self._watches.pop(watch)
        inner = int((self._now_s - started_s) / interval_s)
        times_s = [started_s + n * interval_s for n in range(inner + 1)]
        return [self.sample(at_s, processes) for at_s in [*times_s, self._now_s]]

    def sample(self, at_s: float, processes: Sequence[str]) -> Sample:
        """The sample of an idle machine; override it for a busy one."""
        idle = (0, 0, 0, int(at_s * 100), 0, 0, 0, 0)
        usage = {name: self.usage(name) for name in processes if self.alive(name) is None}
        counters = ("ListenDrops", "ListenOverflows", "RetransSegs", "TCPTimeWaitOverflow")
        return Sample(at_s, {0: idle, 1: idle}, {}, usage, dict.fromkeys(counters, 0), 0, 1 << 33)

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        for process, fake in self.processes.items():
            ready = self._now_s - fake.started_s >= fake.server.ready_after_s
            if not ready or not fake.listens_on(address[1]) or self.alive(process) is not None:
                continue
            if fake.frozen:
                self._now_s += min(silence_s, deadline_s)
                return Exchange(b"", closed=False)
            return Exchange(fake.server.answer(payload), closed=True)
        raise HostError(f"no connection to {address[0]}:{address[1]}: refused")

    def free_port(self) -> int:
        return next(self._ports)

    def read_tail(self, path: str, size_bytes: int) -> str:
        for fake in reversed(self.processes.values()):
            if fake.log_path == path:
                return fake.server.log[-size_bytes:]
        raise HostError(f"cannot read {path}: no such file")

    def now_s(self) -> float:
        return self._now_s

    def sleep(self, duration_s: float) -> None:
        self._now_s += duration_s

    def close(self) -> None:
        self.calls.append(("close", None))

    def _process(self, process: str) -> FakeProcess:
        if process not in self.processes:
            raise HostError(f"no process {process}")
        return self.processes[process]


def rule_for(rules: list[tuple[Matches, Rule]], spec: ProcessSpec) -> Rule:
    for matches, rule in rules:
        if matches(spec.command):
            return rule
    raise HostError(f"no such program: {spec.command[0]}")
