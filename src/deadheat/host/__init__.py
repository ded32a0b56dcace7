"""The only access to processes, the clock and the network: the `Host` interface.

A host is one machine in one role.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from deadheat.errors import DeadheatError
from deadheat.host.fingerprint import Fingerprint

ENDS_ONLY_S = 3600.0  # an interval of `watch` that leaves the samples at both ends alone


class HostError(DeadheatError):
    """A request to the host failed (no such program, agent gone, cgroup refused)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on each server and build that a host starts; None is the host's default.

    A tree that exceeds its memory or processes is killed. A log is cut in the middle.
    """

    memory_bytes: int | None = None  # anonymous and shared memory of the tree
    processes: int | None = None
    log_bytes: int | None = None
    build_step_s: float | None = None  # None: as the manifest says


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process to start: its arguments (never a shell string), folder, environment and CPUs.

    It may open as many files as the hard limit allows.
    """

    command: Sequence[str]
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)  # added to the host's own environment
    cpus: Sequence[int] | None = None  # None: any
    limited: bool = False  # by the limits of the host: a server, or the step of a build
    client: bool = False  # of a container runtime: limits hold for the container that is adopted


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a command that ended or reached its time limit."""

    exit_code: int | None  # None: it reached its time limit
    stdout: str
    stderr: str
    elapsed_s: float
    cpu_s: float
    limit: str | None = None  # the limit that ended it: its name, the reading, the limit


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of one process tree, CPU time since its start.

    `cpu_s` is `user_s` + `system_s`. Context switches are those of living threads, and of ended
    ones as last read; they are None in samples between the ends of a watch.

    Memory is anonymous and shared memory. Memory of sockets and page cache are apart, and None
    where nothing counts them.
    """

    cpu_s: float
    memory_bytes: int
    memory_peak_bytes: int
    processes: int
    threads: int
    user_s: float | None = None
    system_s: float | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    page_faults: int | None = None  # minor and major, of living processes
    socket_bytes: int | None = None
    cache_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """A living thread: its name, which the kernel cuts after 15 bytes, and how long it has run.

    `waited_s` is how long it was ready to run, and waited for a CPU; 0 where nothing counts that.
    """

    pid: int
    id: int
    name: str
    ran_s: float
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Exited:
    """How a process tree ended. `survivors` counts processes killed after the deadline."""

    exit_code: int | None  # negative: the signal's number; None: killed past its deadline
    elapsed_s: float
    survivors: int
    killed: bool
    limit: str | None = None  # the limit that ended it: its name, the reading, the limit
    log_cut_bytes: int = 0  # what its log lost to the limit of its size

    @property
    def how(self) -> str:
        """`exit 1`, `signal 9`, `killed past its deadline`, or the limit that ended it."""
        if self.limit is not None:
            return self.limit
        if self.exit_code is None:
            return "killed past its deadline"
        return f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit {self.exit_code}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """The bytes received on a connection, and whether the other side closed it.

    `in_time` is False if the deadline ended it while bytes still arrived.
    """

    received: bytes
    closed: bool
    in_time: bool = True


class TlsAddress(tuple[str, int]):
    """Host and port of a server that speaks TLS."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening TCP socket. `process` names who holds it; None if this cannot be seen.

    `backlog` is as the kernel has lowered it (listen(2)); None if the kernel does not report it.
    """

    address: str
    port: int
    process: str | None = None
    backlog: int | None = None

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listening sockets of a process tree, and those of other processes on one port.

    `complete` is False if the machine does not show every socket of the tree. `backlog_max` is
    the longest backlog that the kernel allows, somaxconn; None if it cannot be read.
    """

    own: Sequence[Listener]
    others: Sequence[Listener]
    complete: bool
    backlog_max: int | None = None


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server of the user's that runs on this host: its id for `usage` and `watch`, its CPUs."""

    process: str
    cpus: Sequence[int]


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a machine at `at_s` (monotonic); counters are cumulative.

    `cpu_ticks` maps a CPU's number to (user, nice, system, idle, iowait, irq, softirq, steal);
    `cpu_khz` maps it to its clock frequency, and is empty if the machine does not report it.
    `usage` maps a process id to its `Usage`; it is read at both ends of a watch and at most once a
    second in between. `network` has the counters ListenDrops, ListenOverflows, RetransSegs,
    TCPTimeWaitOverflow, ifInDiscards and ifOutDiscards; `pressure_cpu_us` is PSI cpu some total.
    `throttled` counts periods in which a CPU quota stopped the host; None without a quota.
    """

    at_s: float
    cpu_ticks: Mapping[int, Sequence[int]]
    cpu_khz: Mapping[int, int]
    usage: Mapping[str, Usage]
    network: Mapping[str, int]
    pressure_cpu_us: int | None
    memory_available_bytes: int
    throttled: int | None = None


class Host(Protocol):
    """A machine in a role. Every method raises `HostError`, with a hint, if it fails."""

    @property
    def containment(self) -> str:
        """How process trees are contained: `cgroup-v2`, `pid-namespace` or `subreaper`."""

    def fingerprint(self) -> Fingerprint:
        """CPU model and count, memory, kernel, OS, limits, governor, cgroup mode, sysctls."""

    def keep_awake(self) -> None:
        """Keep idle CPUs awake until this host is closed, where that is possible.

        The fingerprint says what came of it: `cpu.idle.wake_up_us`.
        """

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        """Run to the end. After `timeout_s` the tree is killed and `exit_code` is None."""

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        """Start in a new session and containment; stdout and stderr go to `log_path`.

        Returns the id of the process tree for the other methods.
        """

    def converse(self, spec: ProcessSpec, log_path: str) -> str:
        """Start a process for `ask`; its stderr goes to `log_path`. Returns its id.

        `stop`, `freeze` and `usage` work as for a process of `start`.
        """

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        """Send `line`, if it is not None, and return the next line that the process prints.

        Raises `HostError` if the process ends first or the deadline passes. After a missed deadline
        every later call raises `HostError` too.
        """

    def compiler_busy_s(self, process: str) -> float | None:
        """Time that JVM compiler threads in the tree ran or waited for a CPU; None without any."""

    def place_compiler(self, process: str, cpus: Sequence[int] | None) -> None:
        """Let JVM compiler threads in the tree run on these CPUs only; None: all of this host."""

    def alive(self, process: str) -> Exited | None:
        """None while the first process of the tree lives, else how it ended."""

    def cpu_s(self, process: str) -> float:
        """CPU time of the tree since its start. Cheap: memory is not read."""

    def usage(self, process: str) -> Usage:
        """CPU time, memory, processes and threads of the tree.

        To read the memory of many processes that share some takes CPU time.
        """

    def listen_drops(self) -> int | None:
        """Connections that full listen queues have dropped so far; None where nothing counts."""

    def listeners(self, process: str, port: int) -> Listeners:
        """The listening TCP sockets of the tree, and those of others on `port`."""

    def find_running(self, address: tuple[str, int]) -> RunningServer | None:
        """The server that listens there, if that is on this host; it is read, never signaled.

        Raises `HostError` if it is on this host and its processes cannot be seen.
        """

    def members(self, process: str) -> frozenset[tuple[int, int]]:
        """The living processes of the tree, each as (PID, start in clock ticks since boot)."""

    def threads(self, process: str) -> Sequence[ThreadTime]:
        """The living threads of the tree."""

    def adopt(self, process: str, pid: int) -> None:
        """From now on the tree is that of a container, whose first process is `pid`.

        `process` is the client of the runtime that started it. Signals go to `pid`.
        """

    def freeze(self, process: str) -> None:
        """Stop every thread of the tree from running (cgroup freezer, else SIGSTOP)."""

    def thaw(self, process: str) -> None:
        """Let the tree run again."""

    def stop(self, process: str, signal: str, deadline_s: float) -> Exited:
        """Send `signal` to the first process; after the deadline kill the tree. None survives."""

    def watch(self, processes: Sequence[str], interval_s: float) -> str:
        """Begin to sample the machine and these trees; returns the id of the watch."""

    def unwatch(self, watch: str) -> list[Sample]:
        """End a watch and return its samples, with one at its start and one at its end."""

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        """Send bytes on a new connection; read to EOF or until `silence_s` pass without a byte.

        All of it ends after `deadline_s`, also if the other side keeps sending. The bytes to a
        `TlsAddress` go over TLS, with any certificate. Raises `HostError` if the connection is
        refused, or reset before the first byte, or without TLS.
        """

    def free_port(self) -> int:
        """A TCP port on which no process listens."""

    def read_tail(self, path: str, size_bytes: int) -> str:
        """The last bytes of a text file on this host (a server's log)."""

    def now_s(self) -> float:
        """The monotonic clock."""

    def sleep(self, duration_s: float) -> None:
        """Wait."""

    def close(self) -> None:
        """End every process that this host started."""
