"""The seam to the world: processes, the clock and the network of one machine in one role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from deadheat.errors import DeadheatError


class HostError(DeadheatError):
    """The host could not do what was asked (no such program, agent gone, cgroup refused)."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What to start: an argument vector (never a shell string), where, and on which CPUs."""

    command: Sequence[str]
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)  # added to the host's own environment
    cpus: Sequence[int] | None = None  # None: any
    open_files: int | None = None  # soft RLIMIT_NOFILE, clipped to the hard limit


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ran to its end (or to its time limit)."""

    exit_code: int | None  # None: ended by its time limit
    stdout: str
    stderr: str
    elapsed_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What one started process tree has used since its start."""

    cpu_s: float
    memory_bytes: int
    memory_peak_bytes: int
    processes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Exited:
    """How a process tree ended. `survivors` is what had to be killed after the deadline."""

    exit_code: int | None  # negative: the signal's number; None: it was killed past its deadline
    elapsed_s: float
    survivors: int
    killed: bool

    @property
    def how(self) -> str:
        """`exit 1`, `signal 9`, or `killed past its deadline`."""
        if self.exit_code is None:
            return "killed past its deadline"
        return f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit {self.exit_code}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came back on a connection, and whether the far side closed it."""

    received: bytes
    closed: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """One second (or less) of a machine: cumulative counters as read at `at_s` (monotonic).

    `cpu_ticks` maps a CPU's number to (user, nice, system, idle, iowait, irq, softirq, steal);
    `cpu_khz` maps it to its clock, and is empty where the machine does not tell. `usage` maps a
    started process's id to its `Usage`: at a watch's ends, and between them once a second at most.
    `network` holds the counters ListenDrops, ListenOverflows, RetransSegs, TCPTimeWaitOverflow;
    `pressure_cpu_us` is PSI cpu some total.
    """

    at_s: float
    cpu_ticks: Mapping[int, Sequence[int]]
    cpu_khz: Mapping[int, int]
    usage: Mapping[str, Usage]
    network: Mapping[str, int]
    pressure_cpu_us: int | None
    memory_available_bytes: int


class Host(Protocol):
    """A machine in a role. Every method raises `HostError` with the way out when it cannot."""

    @property
    def containment(self) -> str:
        """How process trees are held: `cgroup-v2`, `pid-namespace` or `subreaper`."""

    def fingerprint(self) -> dict[str, Any]:
        """CPU model and count, memory, kernel, OS, limits, governor, cgroup mode, sysctls."""

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        """Run to the end; past `timeout_s` the whole tree is killed and `exit_code` is None."""

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        """Start in a session and container of its own; stdout and stderr go to `log_path`.

        Returns the id by which the tree is known from here on.
        """

    def converse(self, spec: ProcessSpec, log_path: str) -> str:
        """Start a process that `ask` sends lines to; its stderr goes to `log_path`. Returns its id.

        It is stopped, frozen and accounted for like any process.
        """

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        """Send `line` where there is one, and return the next line that the process prints.

        Raises `HostError` where the process ends first or the deadline passes; a process that
        missed a deadline answers no more questions.
        """

    def compiler_cpu_s(self, process: str) -> float | None:
        """CPU time of a JVM's compiler threads in the tree; None where it has none."""

    def alive(self, process: str) -> Exited | None:
        """None while the tree's first process lives, else how it ended."""

    def usage(self, process: str) -> Usage:
        """CPU time, memory, processes and threads of the tree."""

    def freeze(self, process: str) -> None:
        """Stop every thread of the tree from running (cgroup freezer, else SIGSTOP)."""

    def thaw(self, process: str) -> None:
        """Let the tree run again."""

    def stop(self, process: str, signal: str, deadline_s: float) -> Exited:
        """Send `signal` to the first process; past the deadline kill the tree. Nothing survives."""

    def watch(self, processes: Sequence[str], interval_s: float) -> str:
        """Begin sampling the machine and these trees; returns the watch's id."""

    def unwatch(self, watch: str) -> list[Sample]:
        """End a watch and hand over its samples (always one at its start and one at its end)."""

    def exchange(self, address: tuple[str, int], payload: bytes, silence_s: float) -> Exchange:
        """Send bytes on a fresh connection; read to EOF or until `silence_s` without a byte.

        Raises `HostError` where the connection is refused or reset before any byte came.
        """

    def free_port(self) -> int:
        """A TCP port nothing listens on at present."""

    def read_tail(self, path: str, size_bytes: int) -> str:
        """The last bytes of a text file on this host (a server's log)."""

    def now_s(self) -> float:
        """The monotonic clock."""

    def sleep(self, duration_s: float) -> None:
        """Wait."""

    def close(self) -> None:
        """End everything this host started."""
