"""The agent: starts and owns the processes of one machine until its standard input ends.

It is one file for Linux and CPython 3.8 or later that needs only the standard library, so that it
can be copied to another machine and run there. It reads and writes one JSON object per line:

    {"id": 1, "do": "start", "spec": {...}, "log_path": "..."}
    {"id": 1, "ok": "1"}    or    {"id": 1, "error": {"message": "...", "hint": "..."}}

The first line it writes is `{"id": 0, "ok": {"containment": "..."}}`, or an error if it cannot
work here. Each request has its own thread, so a long `run` does not delay `usage`. When standard
input ends, for example because the other side died, the agent kills every tree that it started.
If the agent itself is killed, its keeper does that: a second process of this file, in its own
session, that waits for the end of the agent.

A process tree is contained in one of three ways. The agent uses the first that works:

* `cgroup-v2`: its own cgroup (also in the controller-less `unified` mount of a hybrid machine);
* `pid-namespace`: a PID namespace with our init, which dies with the agent;
* `subreaper`: our init adopts every orphan of the tree and kills them all when it ends.

An init notices the end of the agent itself. A cgroup has no init, so it needs the keeper.
"""

from __future__ import annotations

import abc
import argparse
import base64
import collections
import contextlib
import ctypes
import errno
import fcntl
import itertools
import json
import os
import platform
import random
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterable, Iterator, NoReturn  # noqa: UP035 (for 3.8)

CAPTURE_BYTES_MAX = 8 << 20  # per output stream of a `run`: half head, half tail
LOG_BYTES_MAX = 8 << 20  # default limit of a log
PROCESSES_MAX = 4096  # default limit of one tree
MEMORY_SHARE_MAX = 0.5  # of the machine's memory: default limit of one tree
MEMORY_SHARE_LEFT_MIN = 0.03  # below this, the largest tree ends before the kernel ends a process
LIMITS_INTERVAL_S = 0.2  # the check of a cgroup takes about 50 us
LIMITS_INTERVAL_OF_INITS_S = 1.0  # without a cgroup it has to read all of /proc
EXCHANGE_BYTES_MAX = 4 << 20
KERNEL_DEADLINE_S = 20.0  # for the kernel to kill, to freeze, or to empty a cgroup
USAGE_INTERVAL_S = 1.0  # each reading visits every process of a tree and takes CPU time
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
CPU_DEVICES = Path("/sys/devices/system/cpu")
AGENT_PATH = Path(__file__).resolve()
DEAD = ("Z", "X")  # states of /proc/PID/stat
ASK_POLL_S = 0.5  # how often `ask` checks that the process lives
ANSWER_BYTES_MAX = 16 << 20  # one line of a process that answers questions
START_DEADLINE_S = 60.0  # from the start of our launcher to the exec; then it is killed
CONTAINMENTS = ("cgroup-v2", "pid-namespace", "subreaper")

Json = Dict[str, Any]  # noqa: UP006


class Fault(Exception):
    """An error that the agent reports to the harness: message and hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> Json:
        return {"message": self.message, "hint": self.hint}


# --- Reading /proc ------------------------------------------------------------------------------


def read_text(path: str | Path) -> str | None:
    """The stripped text of a kernel file, or None if it is missing or cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def read_number(path: str | Path) -> int | None:
    text = read_text(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def keyed(text: str | None) -> dict[str, int]:
    """The numbers in lines of `key number`, with or without a colon, by key."""
    pairs = (line.replace(":", " ").split() for line in (text or "").splitlines())
    return {p[0]: int(p[1]) for p in pairs if len(p) > 1 and p[1].isdigit()}


def numbered(folder: Path) -> list[int]:
    """The entries of a folder of /proc that are numbers: processes or threads."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def stat_fields(pid: int | str) -> list[str] | None:
    """Fields 3 and later of /proc/PID/stat (proc(5)): [0] state, [1] parent; None if gone."""
    text = read_text(f"/proc/{pid}/stat")
    return text.rpartition(")")[2].split() if text else None


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot. Together with the PID it is unique.

    None if the process is dead, also if it is a zombie.
    """
    fields = stat_fields(pid)
    return int(fields[19]) if fields and fields[0] not in DEAD else None


class Family:
    """The children of every process now. One look at /proc serves several trees."""

    def __init__(self) -> None:
        self.children: dict[int, list[int]] = collections.defaultdict(list)
        self.dead = set()
        for pid in numbered(Path("/proc")):
            fields = stat_fields(pid)
            if fields:
                self.children[int(fields[1])].append(pid)
                if fields[0] in DEAD:
                    self.dead.add(pid)

    def descendants(self, root: int) -> list[int]:
        pids = [root]
        for pid in pids:
            pids.extend(self.children.get(pid, ()))
        return [pid for pid in pids[1:] if pid not in self.dead]


def start_times(pids: list[int]) -> list[tuple[int, int]]:
    """(PID, start in clock ticks) of those of `pids` that live."""
    return [(pid, ticks) for pid in pids if (ticks := start_ticks(pid)) is not None]


def descendants(root: int) -> list[int]:
    """Every living process below `root`, nearest first, without zombies."""
    return Family().descendants(root)


def cpu_ticks_of(fields: list[str], own: bool = True) -> int:
    """User and system time in ticks, of a process (if `own`) and the children it waited for."""
    return sum(map(int, fields[11:15] if own else fields[13:15]))


COMPILER_THREADS = ("C1 CompilerThre", "C2 CompilerThre")  # HotSpot's names, truncated in comm


def compiler_cpu_s(pids: list[int]) -> float | None:
    """CPU time of the JIT compiler threads of these processes; None if there are none."""
    ticks = []
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in numbered(Path(f"/proc/{pid}/task")):
                task = f"{pid}/task/{thread}"
                name = read_text(f"/proc/{task}/comm") or ""
                if name.startswith(COMPILER_THREADS) and (fields := stat_fields(task)):
                    ticks.append(cpu_ticks_of(fields))
    return sum(ticks) / TICKS_PER_S if ticks else None


def memory_of(pid: int) -> int:
    """Proportional set size in bytes; resident set size if the kernel does not give the former."""
    pss = keyed(read_text(f"/proc/{pid}/smaps_rollup")).get("Pss")
    rss = keyed(read_text(f"/proc/{pid}/status")).get("VmRSS", 0)
    return 1024 * (rss if pss is None else pss)


def wait_for_key(path: str, key: str, value: int, deadline_s: float) -> bool:
    """Wait until a kernel file has `key value` (kernfs wakes poll(2) on a change)."""
    end_s = time.monotonic() + deadline_s
    try:
        with Path(path).open() as file:
            poll = select.poll()
            poll.register(file, select.POLLPRI)
            while True:
                file.seek(0)
                if keyed(file.read()).get(key) == value:
                    return True
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    return False
                poll.poll(left_s * 1000)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            return True  # the cgroup is gone, so it is empty and no process runs in it
        raise


# --- Inside the new process, before it becomes the command ---------------------------------------


def become(spec: Json, report: int) -> NoReturn:
    """Replace this process by the command; write an error to `report`."""
    try:
        prepare(spec)
        os.write(report, b'{"ready": true}\n')
        environment = dict(os.environ, **spec["env"])
        os.execvpe(spec["command"][0], spec["command"], environment)
    except Fault as fault:
        refusal = fault
    except OSError as error:
        refusal = exec_fault(spec, error)
    os.write(report, json.dumps({"error": refusal.as_json()}).encode() + b"\n")
    os._exit(127)


def prepare(spec: Json) -> None:
    try:
        os.chdir(spec["cwd"] or ".")
    except OSError as error:
        raise Fault(f"cannot start in {spec['cwd']}: {error.strerror}") from error
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = spec["open_files"]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if wanted else hard, hard))
    if spec["cpus"] is not None:
        pin(spec["cpus"])
    # Python ignores SIGPIPE, a background job of a shell SIGINT. The command gets the defaults.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):  # some belong to the C library
            signal.signal(number, signal.SIG_DFL)
    if spec["stdin_fd"] is None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    else:
        os.dup2(spec["stdin_fd"], 0)
        os.close(spec["stdin_fd"])
    if spec["cgroup"]:  # last, so that the time of this interpreter is not counted
        Path(spec["cgroup"], "cgroup.procs").write_text("0")


def pin(cpus: list[int]) -> None:
    allowed = os.sched_getaffinity(0)
    if not cpus or not set(cpus) <= allowed:
        raise Fault(
            f"cannot pin to CPUs {numbers(cpus)}: this host allows {numbers(allowed)}",
            f"choose among CPUs {numbers(allowed)}",
        )
    os.sched_setaffinity(0, cpus)


def numbers(values: Any) -> str:
    return ",".join(map(str, sorted(values))) or "none"


def exec_fault(spec: Json, error: OSError) -> Fault:
    program = spec["command"][0]
    path = dict(os.environ, **spec["env"]).get("PATH", os.defpath)
    full_path = shutil.which(program, path=path)
    if error.errno == errno.ENOENT and not full_path:
        return Fault(f"no such program: {program}", "install it, or put its folder on PATH")
    if error.errno == errno.ENOENT:
        return Fault(
            f"cannot start {full_path}: its interpreter or loader does not exist",
            f"check its first line, or run `file {full_path}`",
        )
    return Fault(
        f"cannot start {full_path or program}: {error.strerror}",
        "check that it is an executable file",
    )


# --- Our init, for machines without cgroups ------------------------------------------------------

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000  # sched.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # sockios.h, if.h
PR_SET_CHILD_SUBREAPER = 36  # prctl.h


def libc_call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise Fault(f"{name} failed: {os.strerror(number)}")


def enter_network_namespace() -> None:
    """Give this process and its children a network of their own that has only loopback."""
    enter_namespace(CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as request:
        name_and_flags = fcntl.ioctl(request, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", name_and_flags)[1] | IFF_UP
        fcntl.ioctl(request, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def enter_namespace(kind: int) -> None:
    """Enter a new namespace; of PIDs, the next child does. Without root, also one of users."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        libc_call("unshare", kind)
        return
    libc_call("unshare", CLONE_NEWUSER | kind)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def init_main(spec: Json, control: IO[bytes], report: int) -> NoReturn:
    """Run the command under our init, which reaps, forwards signals, and kills at the end.

    `control` has one signal number per line and ends with the agent. The init writes to `report`
    when the command has started, when it has ended, and when its tree is empty.
    """
    try:
        if spec["containment"] == "pid-namespace":
            enter_namespace(CLONE_NEWPID)
            init = os.fork()
            if init:
                os.close(report)
                os.waitpid(init, 0)
                os._exit(0)
        else:
            libc_call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        Init(spec, control, report).reap()
    except (Fault, OSError) as error:
        fault = error if isinstance(error, Fault) else Fault(str(error))
        os.write(report, json.dumps({"error": fault.as_json()}).encode() + b"\n")
    os._exit(1)


class Init:
    def __init__(self, spec: Json, control: IO[bytes], report: int) -> None:
        self.control = control
        self.report = report
        self.ending = threading.Event()
        reader, writer = os.pipe()
        self.first = os.fork()
        if self.first == 0:
            os.setsid()
            become(spec, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as answer:
            self.write_report(answer.read() + b'{"running": true}\n')
        threading.Thread(target=self.follow_control, daemon=True).start()

    def write_report(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the agent may be dead
            os.write(self.report, line)

    def follow_control(self) -> None:
        for line in self.control:
            with contextlib.suppress(ProcessLookupError):
                if self.first:
                    os.kill(self.first, int(line))
        self.ending.set()
        if os.getpid() == 1:
            os._exit(0)  # the kernel kills a namespace with its init
        self.kill()

    def kill(self) -> None:
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def reap(self) -> NoReturn:
        """Wait for every child, own or adopted, until the agent ends the tree.

        A process that escapes one round of killing has lost its parent in that round. It becomes
        a child of this process, and the death of its parent starts another round.
        """
        while True:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                self.write_report(b'{"empty": true}\n')
                self.ending.wait()
                os._exit(0)
            if pid == self.first:
                self.first = 0
                self.write_report(b'{"exit": %d}\n' % exit_code(status))
            if self.ending.is_set():
                self.kill()


def exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def launch_main(report: int) -> NoReturn:
    os.set_inheritable(report, False)
    control = os.fdopen(os.dup(0), "rb")  # an init keeps it open
    spec = json.loads(control.readline())
    if spec["cgroup"]:
        become(spec, report)
    init_main(spec, control, report)


# --- Trees: a started command and its descendants ------------------------------------------------


class Tree(abc.ABC):
    """A running command with its descendants, as the agent sees it."""

    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.ended = threading.Event()  # the first process has ended
        self.exit_code: int | None = None
        self.limit: str | None = None  # the limit that ended the tree: its name and the reading
        self.limits: Json = {
            "memory_bytes": 0,  # MEMORY_SHARE_MAX
            "processes": PROCESSES_MAX,
            "log_bytes": LOG_BYTES_MAX,
        }
        self.limits.update({k: v for k, v in spec["limits"].items() if v is not None})
        self.log: Log | None = None
        self.frozen = False
        self.freezes = self.freezes_checked = 0
        self.memory_peak_bytes = 0
        reader, writer = os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(AGENT_PATH), "--launch", str(writer)],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[writer] if spec["stdin_fd"] is None else [writer, spec["stdin_fd"]],
                start_new_session=True,
            )
        finally:
            os.close(writer)
        self.report = os.fdopen(reader, "rb")
        assert self.process.stdin is not None
        self.control: IO[bytes] = self.process.stdin
        with contextlib.suppress(BrokenPipeError):  # then the report ends early, see await_start
            self.control.write(json.dumps(spec).encode() + b"\n")
            self.control.flush()
        self.await_start()
        self.started_s = self.ended_s = time.monotonic()
        threading.Thread(target=self.await_end, daemon=True).start()

    def await_start(self) -> None:
        """Read the report until exec, which closes it, or until our init reports the start."""
        answer: Json = {}
        watchdog = threading.Timer(START_DEADLINE_S, self.process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            for line in self.report:
                answer.update(json.loads(line))
                if "error" in answer:
                    self.abandon()
                    raise Fault(**answer["error"])
                if "running" in answer:
                    return
        finally:
            watchdog.cancel()
        if "ready" not in answer:
            self.abandon()
            raise Fault(f"the launcher died with exit code {self.process.returncode}")

    def abandon(self) -> None:
        self.control.close()
        self.process.wait()
        self.report.close()

    def note_exit(self, code: int) -> None:
        self.exit_code = code
        self.ended_s = time.monotonic()
        self.ended.set()

    @abc.abstractmethod
    def await_end(self) -> None:
        """Wait for the end of the first process and note it; runs in its own thread."""

    @abc.abstractmethod
    def members(self, family: Family | None = None) -> list[int]:
        """The living processes of the tree, at the moment of `family` if it needs one."""

    @abc.abstractmethod
    def cpu_s(self) -> float:
        """User and system time of the tree, also of dead processes; `Fault` after a stop."""

    @abc.abstractmethod
    def send(self, number: int) -> None:
        """Send a signal to the first process if it is alive."""

    @abc.abstractmethod
    def freeze(self) -> None:
        """Freeze the tree; return when none of its threads can run."""

    @abc.abstractmethod
    def thaw(self) -> None:
        """Let the tree run again. No effect on a tree that is not frozen or is dead."""

    @abc.abstractmethod
    def wait_empty(self, deadline_s: float) -> bool:
        """Wait until no process of the tree lives."""

    @abc.abstractmethod
    def kill(self) -> None:
        """Kill the tree, also a frozen one; return when it is empty. No effect on a dead tree."""

    @abc.abstractmethod
    def end_processes(self) -> None:
        """Kill every process and keep the readings of the tree; return before they are dead."""

    def memory(self) -> tuple[int, int]:
        """Current and peak bytes. The peak is exact only for a single process (VmHWM)."""
        pids = self.members()
        now = sum(map(memory_of, pids))
        marks = (keyed(read_text(f"/proc/{p}/status")).get("VmHWM", 0) for p in pids)
        self.memory_peak_bytes = max(self.memory_peak_bytes, now, 1024 * max(marks, default=0))
        return now, self.memory_peak_bytes

    def usage(self) -> Json:
        memory, peak = self.memory()
        pids = self.members()
        threads = (stat_fields(pid) for pid in pids)
        return {
            "cpu_s": self.cpu_s(),
            "memory_bytes": memory,
            "memory_peak_bytes": peak,
            "processes": len(pids),
            "threads": sum(int(fields[17]) for fields in threads if fields),
        }

    def exited(self, survivors: int = 0, killed: bool = False) -> Json:
        return {
            "exit_code": None if killed else self.exit_code,
            "elapsed_s": self.ended_s - self.started_s,
            "survivors": survivors,
            "killed": killed,
            "limit": self.limit,
            "log_cut_bytes": self.log.cut_bytes if self.log else 0,
        }

    def stop(self, number: int, deadline_s: float) -> Json:
        self.thaw()
        if not self.ended.is_set():
            self.send(number)
        self.wait_empty(deadline_s)
        survivors = len(self.members())
        killed = not self.ended.is_set() and survivors > 0
        self.kill()
        if not self.ended.wait(KERNEL_DEADLINE_S):
            raise Fault(f"process {self.process.pid} did not end within {KERNEL_DEADLINE_S:g} s")
        if self.log:
            self.log.close()
        return self.exited(survivors, killed)


class CgroupTree(Tree):
    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.path = spec["cgroup"]
        Path(self.path).mkdir()
        try:
            super().__init__(spec, stdout, stderr)
        except BaseException:
            remove_cgroup(self.path)
            raise
        self.control.close()
        self.report.close()

    def await_end(self) -> None:
        self.note_exit(self.process.wait())

    def members(self, family: Family | None = None) -> list[int]:
        text = " ".join(
            read_text(Path(folder, "cgroup.procs")) or "" for folder, _, _ in os.walk(self.path)
        )
        return [int(pid) for pid in text.split() if pid != "0"]

    def cpu_s(self) -> float:
        stat = keyed(read_text(f"{self.path}/cpu.stat"))
        if not stat:
            raise Fault(f"the tree of process {self.process.pid} has been stopped")
        return stat["usage_usec"] / 1e6

    def memory(self) -> tuple[int, int]:
        now = read_number(f"{self.path}/memory.current")
        peak = read_number(f"{self.path}/memory.peak")
        return super().memory() if now is None or peak is None else (now, peak)

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def freeze(self) -> None:
        Path(self.path, "cgroup.freeze").write_text("1")
        if not wait_for_key(f"{self.path}/cgroup.events", "frozen", 1, KERNEL_DEADLINE_S):
            self.thaw()
            raise Fault(
                f"process {self.process.pid} was not frozen within {KERNEL_DEADLINE_S:g} s",
                "end the process in uninterruptible sleep (state D in ps)",
            )

    def thaw(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.path, "cgroup.freeze").write_text("0")
            wait_for_key(f"{self.path}/cgroup.events", "frozen", 0, KERNEL_DEADLINE_S)

    def wait_empty(self, deadline_s: float) -> bool:
        return wait_for_key(f"{self.path}/cgroup.events", "populated", 0, deadline_s)

    def kill(self) -> None:
        remove_cgroup(self.path)

    def end_processes(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.path, "cgroup.kill").write_text("1")


class InitTree(Tree):
    """A tree below our init, in a PID namespace or by adoption."""

    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        self.empty = threading.Event()
        self.namespaced = spec["containment"] == "pid-namespace"
        self.cpu_ticks = 0
        super().__init__(spec, stdout, stderr)
        children = descendants(self.process.pid)
        self.init = children[0] if self.namespaced and children else self.process.pid

    def await_end(self) -> None:
        for line in self.report:
            event = json.loads(line)
            if "exit" in event:
                self.note_exit(event["exit"])
            if "empty" in event:
                self.empty.set()
        self.process.wait()
        self.empty.set()
        if not self.ended.is_set():
            self.note_exit(-signal.SIGKILL)

    def members(self, family: Family | None = None) -> list[int]:
        return (family or Family()).descendants(self.init)

    def cpu_s(self) -> float:
        """The time of the processes that the init reaped and of its living descendants.

        The init is read first. A process that ends in between is missed once, not counted twice.
        """
        init = stat_fields(self.init)
        if init is None:
            raise Fault(f"the tree of process {self.process.pid} has been stopped")
        ticks = cpu_ticks_of(init, own=False)
        living = (stat_fields(pid) for pid in self.members())
        ticks += sum(cpu_ticks_of(fields) for fields in living if fields)
        self.cpu_ticks = max(self.cpu_ticks, ticks)
        return self.cpu_ticks / TICKS_PER_S

    def send(self, number: int) -> None:
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.control.write(b"%d\n" % number)
            self.control.flush()

    def freeze(self) -> None:
        """Send SIGSTOP to every running process, repeatedly, until none is left."""
        end_s = time.monotonic() + KERNEL_DEADLINE_S
        while running := [pid for pid in self.members() if not is_stopped(pid)]:
            if time.monotonic() > end_s:
                self.thaw()
                raise Fault(
                    f"processes {numbers(running)} did not stop within {KERNEL_DEADLINE_S:g} s"
                )
            self.signal_all(running, signal.SIGSTOP)
            time.sleep(0.001)

    def thaw(self) -> None:
        self.signal_all(self.members(), signal.SIGCONT)

    def signal_all(self, pids: list[int], number: int) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait_empty(self, deadline_s: float) -> bool:
        return self.empty.wait(deadline_s)

    def kill(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.control.close()
        try:
            self.process.wait(KERNEL_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            raise Fault(f"the init {self.process.pid} did not end its tree: {error}") from error

    def end_processes(self) -> None:
        """Stop them first: a stopped process cannot start others while they are killed."""
        with contextlib.suppress(Fault):
            self.freeze()
        end_s = time.monotonic() + KERNEL_DEADLINE_S
        while (pids := self.members()) and time.monotonic() < end_s:
            self.signal_all(pids, signal.SIGKILL)
            time.sleep(0.001)


def is_stopped(pid: int) -> bool:
    """Whether every thread of the process is stopped or dead, or will be when it leaves the kernel.

    The last case is the parent of a vfork(2) whose child was stopped before its exec.
    """
    try:
        threads = numbered(Path(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return True
    stats = (stat_fields(f"{pid}/task/{thread}") for thread in threads)
    states = {fields[0] for fields in stats if fields}
    return states <= {*DEAD, "T", "t"} or (
        states <= {*DEAD, "T", "t", "D"} and stop_is_pending(pid)
    )


def stop_is_pending(pid: int) -> bool:
    for line in (read_text(f"/proc/{pid}/status") or "").splitlines():
        if line.startswith("ShdPnd:"):
            return bool(int(line.split()[1], 16) & 1 << signal.SIGSTOP - 1)
    return False


# --- Containment of trees ------------------------------------------------------------------------


def cgroup_candidates() -> Iterator[Path]:
    """The cgroup of this process and its parent in the v2 hierarchy, if that is mounted."""
    mounts = [line.split() for line in (read_text("/proc/self/mounts") or "").splitlines()]
    lines = (read_text("/proc/self/cgroup") or "").splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), None)
    root = next((Path(m[1]) for m in mounts if m[2] == "cgroup2"), None)
    if own is None or root is None:
        return
    here = root / own.strip("/")
    if str(os.getpid()) in (read_text(here / "cgroup.procs") or "").split():
        yield here
        if here != root:
            yield here.parent


def cgroup_name() -> str:
    """A name that identifies this agent by PID namespace, PID and start time."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    return f"deadheat-{space}-{os.getpid()}-{start_ticks(os.getpid())}"


def sweep(folder: Path) -> None:
    """Kill and remove the cgroups that dead agents left in `folder`."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    for cgroup in folder.glob(f"deadheat-{space}-*-*"):
        pid, ticks = cgroup.name.split("-")[2:4]
        ours = cgroup.stat().st_uid == os.geteuid()
        if ours and str(start_ticks(int(pid))) != ticks:
            remove_cgroup(str(cgroup))


def remove_cgroup(path: str) -> None:
    """Kill every process in a cgroup and below it, and remove it."""
    try:
        Path(path, "cgroup.kill").write_text("1")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            return
        raise
    if not wait_for_key(f"{path}/cgroup.events", "populated", 0, KERNEL_DEADLINE_S):
        raise Fault(f"{path} still has processes {KERNEL_DEADLINE_S:g} s after they were killed")
    for folder, _, _ in os.walk(path, topdown=False):
        with contextlib.suppress(FileNotFoundError):
            Path(folder).rmdir()


def claim_cgroup() -> str | None:
    """A new cgroup for the trees, if possible with memory accounting; None if refused."""
    claimed: list[Path] = []
    for folder in cgroup_candidates():
        try:
            sweep(folder)
            path = folder / cgroup_name()
            path.mkdir()
            if accepts_processes(path):
                claimed.append(path)
            else:
                path.rmdir()
        except (OSError, Fault):
            continue
    claimed.sort(key=lambda path: not (path / "memory.peak").exists())
    for path in claimed[1:]:
        path.rmdir()
    return str(claimed[0]) if claimed else None


def accepts_processes(path: Path) -> bool:
    """Whether a child can move into a cgroup below `path` and be killed and frozen there."""
    probe = path / "probe"
    probe.mkdir()
    child = os.fork()
    if child == 0:
        try:
            (probe / "cgroup.procs").write_text("0")
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    probe.rmdir()
    return status == 0 and all((path / f"cgroup.{name}").exists() for name in ("kill", "freeze"))


class Keeper:
    """Kills and removes the agent's cgroup if the agent is killed.

    It is another process of this file. Its standard input is a pipe whose only writer is the agent,
    so the pipe ends with the agent, however that ends. The keeper has its own session and ignores
    the signals that end a session, so what kills a terminal or a process group spares it.
    """

    def __init__(self, cgroup: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(AGENT_PATH), "--keep", cgroup],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def keep_main(cgroup: str) -> NoReturn:
    """Wait for the end of the agent, then remove its cgroup.

    A launcher that was about to enter the cgroup makes the removal fail, so it is repeated.
    """
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 1):
        pass
    end_s = time.monotonic() + KERNEL_DEADLINE_S
    while Path(cgroup).exists() and time.monotonic() < end_s:
        try:
            remove_cgroup(cgroup)
        except (Fault, OSError):
            time.sleep(0.05)
    os._exit(0)


class Containment:
    """Starts trees, contained in the first way that worked when the agent started."""

    def __init__(self, wanted: str | None) -> None:
        self.cgroup: str | None = None
        self.keeper: Keeper | None = None
        self.started = 0
        for name in CONTAINMENTS if wanted is None else (wanted,):
            if self.works(name):
                self.name = name
                return
        raise Fault(
            f"this host cannot contain process trees by {wanted or ' or '.join(CONTAINMENTS)}",
            "run as root, or under `systemd-run --user --scope -p Delegate=yes`",
        )

    def works(self, name: str) -> bool:
        if name == "cgroup-v2":
            self.cgroup = claim_cgroup()
            self.keeper = Keeper(self.cgroup) if self.cgroup else None
            return self.cgroup is not None
        self.name = name
        try:
            empty_program = {"command": [sys.executable, "-I", "-S", "-c", ""]}
            self.start(empty_program, subprocess.DEVNULL, subprocess.DEVNULL).kill()
        except Fault:
            return False
        return True

    def start(self, spec: Json, stdout: Any, stderr: Any) -> Tree:
        self.started += 1
        cgroup = f"{self.cgroup}/{self.started}" if self.cgroup else None
        defaults: Json = {"cwd": None, "env": {}, "cpus": None, "open_files": None}
        defaults["stdin_fd"] = None
        defaults["limits"] = {}
        full = dict(defaults, **spec, cgroup=cgroup, containment=self.name)
        return (CgroupTree if cgroup else InitTree)(full, stdout, stderr)

    def close(self) -> None:
        if self.cgroup:
            remove_cgroup(self.cgroup)
        if self.keeper:
            self.keeper.close()

    @property
    def memory_source(self) -> str:
        exact = self.cgroup and Path(self.cgroup, "memory.peak").exists()
        return "cgroup" if exact else "sampled PSS"


# --- Limits --------------------------------------------------------------------------------------

FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2  # falloc.h
BLOCK_BYTES = 4096
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def omitted(size_bytes: int) -> str:
    return f"\n[deadheat: {size_bytes} bytes omitted]\n"


class Log:
    """The log file of a tree, cut in the middle while the tree writes it.

    The tree writes to the file itself, so that the limit costs it nothing. A hole in the middle
    gives the space back and does not change where the tree writes. `close` joins head and tail.
    """

    def __init__(self, file: IO[bytes], size_bytes_max: int) -> None:
        self.path = file.name
        self.descriptor = os.dup(file.fileno())
        self.size_bytes_max = size_bytes_max
        self.kept_bytes = max(size_bytes_max // 4 // BLOCK_BYTES, 1) * BLOCK_BYTES  # at each end
        self.cut_to = 0  # end of the hole
        self.using = threading.Lock()

    @property
    def cut_bytes(self) -> int:
        return max(0, self.cut_to - self.kept_bytes)

    def check(self) -> None:
        """Cut the log if it takes more space than its limit."""
        with self.using:
            if self.descriptor >= 0:
                status = os.fstat(self.descriptor)
                if 512 * status.st_blocks > self.size_bytes_max:
                    self.cut(status.st_size)

    def cut(self, size_bytes: int) -> None:
        end = (size_bytes - self.kept_bytes) // BLOCK_BYTES * BLOCK_BYTES
        if end <= max(self.kept_bytes, self.cut_to):
            return
        try:
            punch_hole(self.descriptor, self.kept_bytes, end)
        except OSError:  # a file system without holes: give up the tail that there is now
            os.ftruncate(self.descriptor, self.kept_bytes)
            end = size_bytes
        self.cut_to = end

    def close(self) -> None:
        """Check the log once more, and join head and tail of a log that was cut."""
        self.check()
        with self.using:
            if self.descriptor < 0:
                return
            os.close(self.descriptor)
            self.descriptor = -1
            if self.cut_to:
                with contextlib.suppress(OSError), Path(self.path).open("r+b") as file:
                    file.seek(self.cut_to)
                    tail = file.read(self.size_bytes_max)
                    file.seek(self.kept_bytes)
                    file.write(omitted(self.cut_bytes).encode() + tail)
                    file.truncate()


def punch_hole(descriptor: int, begin: int, end: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
    span = (ctypes.c_int64(begin), ctypes.c_int64(end - begin))
    if getattr(libc, "fallocate64", libc.fallocate)(descriptor, mode, *span) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def resident_bytes(pid: int) -> int:
    """The resident set size. Unlike the proportional one it costs the process nothing to read."""
    fields = (read_text(f"/proc/{pid}/statm") or "0 0").split()
    return int(fields[1]) * PAGE_BYTES


def gib(size_bytes: float) -> str:
    return f"{size_bytes / 2**30:.2f} GiB"


class Limiter(threading.Thread):
    """Ends each tree that exceeds its limits, and cuts logs, until the agent ends.

    A frozen tree is checked once. The sum of resident sets counts shared memory more than once, so
    the exact memory is read only if the sum exceeds the limit.
    """

    def __init__(self, trees: dict[str, Tree], cgroups: bool) -> None:
        super().__init__(daemon=True)
        self.trees = trees
        self.cgroups = cgroups
        self.memory_total_bytes = 1024 * keyed(read_text("/proc/meminfo")).get("MemTotal", 0)

    def run(self) -> None:
        while True:
            time.sleep(LIMITS_INTERVAL_S if self.cgroups else LIMITS_INTERVAL_OF_INITS_S)
            self.check_all()

    def check_all(self) -> None:
        trees = list(self.trees.values())
        family = None if self.cgroups or not trees else Family()
        for tree in trees:
            frozen, freezes = tree.frozen, tree.freezes
            if not frozen or freezes != tree.freezes_checked:
                tree.freezes_checked = freezes if frozen else 0
                with contextlib.suppress(Fault, OSError):
                    self.check(tree, family)
        with contextlib.suppress(Fault, OSError):
            self.check_machine(trees)

    def check(self, tree: Tree, family: Family | None) -> None:
        if tree.log:
            tree.log.check()
        pids = tree.members(family)
        if len(pids) > tree.limits["processes"]:
            self.end(
                tree, f"process_limit: {len(pids)} processes, limit {tree.limits['processes']}"
            )
        limit_bytes = tree.limits["memory_bytes"] or MEMORY_SHARE_MAX * self.memory_total_bytes
        if limit_bytes and sum(map(resident_bytes, pids)) > limit_bytes:
            memory_bytes, _ = tree.memory()
            if memory_bytes > limit_bytes:
                self.end(tree, f"memory_limit: {gib(memory_bytes)}, limit {gib(limit_bytes)}")

    def check_machine(self, trees: list[Tree]) -> None:
        """End the largest tree if the machine is nearly out of memory and the tree is a cause."""
        meminfo = keyed(read_text("/proc/meminfo"))
        left_bytes = 1024 * meminfo.get("MemAvailable", meminfo.get("MemTotal", 0))
        least_bytes = MEMORY_SHARE_LEFT_MIN * self.memory_total_bytes
        if left_bytes >= least_bytes or not trees:
            return
        sizes = [sum(map(resident_bytes, tree.members())) for tree in trees]
        size_bytes, tree = max(zip(sizes, trees), key=lambda pair: pair[0])  # noqa: B905
        if size_bytes > least_bytes:
            reading = (
                f"{gib(size_bytes)}, the largest tree when the machine had {gib(left_bytes)} left"
            )
            self.end(tree, f"memory_limit: {reading}")

    def end(self, tree: Tree, limit: str) -> None:
        if not tree.ended.is_set():
            tree.limit = tree.limit or limit
        tree.end_processes()


# --- Output of a `run` ---------------------------------------------------------------------------


class Capture(threading.Thread):
    """Reads a pipe to its end and keeps the head and the tail of the output."""

    HALF = CAPTURE_BYTES_MAX // 2

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.pipe = pipe
        self.head = bytearray()
        self.tail = bytearray()
        self.size_bytes = 0
        self.start()

    def run(self) -> None:
        with self.pipe:
            while chunk := os.read(self.pipe.fileno(), 1 << 16):
                self.size_bytes += len(chunk)
                room = self.HALF - len(self.head)
                self.head += chunk[:room]
                self.tail += chunk[room:]
                if len(self.tail) > 2 * self.HALF:
                    del self.tail[: -self.HALF]

    def text(self) -> str:
        self.join(KERNEL_DEADLINE_S)  # a process outside the tree may hold the pipe open
        if self.size_bytes <= CAPTURE_BYTES_MAX:
            return (self.head + self.tail).decode(errors="replace")
        note = omitted(self.size_bytes - CAPTURE_BYTES_MAX)
        tail = self.tail[-self.HALF :]
        return self.head.decode(errors="replace") + note + tail.decode(errors="replace")


# --- Conversations: processes that answer each line with a line ----------------------------------


class Conversation:
    """Sends lines to a process and reads one line for each, with a deadline.

    After a missed deadline the next line may answer an earlier question. The conversation is then
    broken, and every later question fails.
    """

    def __init__(self, tree: Tree, questions: IO[bytes], log_path: str) -> None:
        assert tree.process.stdout is not None
        self.tree = tree
        self.questions = questions
        self.answers = tree.process.stdout
        self.log_path = log_path
        self.received = b""
        self.broken: str | None = None
        self.asking = threading.Lock()
        os.set_blocking(questions.fileno(), False)

    def ask(self, line: str | None, deadline_s: float) -> str:
        """Send `line`, if it is not None, and return the next line of the process."""
        with self.asking:
            if self.broken is not None:
                raise Fault(self.broken)
            try:
                return self.exchange(line, time.monotonic() + deadline_s)
            except TimeoutError:
                self.broken = f"no answer within {deadline_s:g} s"
            except (OSError, EOFError):
                self.tree.ended.wait(1.0)
                self.broken = f"it ended with exit code {self.tree.exit_code} before it answered"
            except Fault as fault:
                self.broken = fault.message
            last_lines = read_tail(self.log_path, 500).strip()
            raise Fault(self.broken, last_lines or None)

    def exchange(self, line: str | None, end_s: float) -> str:
        if line is not None:
            self.send(line.encode() + b"\n", end_s)
        while b"\n" not in self.received:
            ended = self.tree.ended.is_set()
            if self.wait_for(self.answers.fileno(), select.POLLIN, end_s, ended):
                chunk = os.read(self.answers.fileno(), 1 << 16)
                if not chunk:
                    raise EOFError
                self.received += chunk
                if len(self.received) > ANSWER_BYTES_MAX:
                    raise Fault(f"its answer is longer than {ANSWER_BYTES_MAX} bytes")
            elif ended:  # our init may hold the pipe open
                raise EOFError
        answer, _, self.received = self.received.partition(b"\n")
        return answer.decode(errors="replace")

    def send(self, question: bytes, end_s: float) -> None:
        """Write a question; a process that does not read must not block this one."""
        pipe = self.questions.fileno()
        while question:
            ended = self.tree.ended.is_set()
            if self.wait_for(pipe, select.POLLOUT, end_s, ended):
                question = question[os.write(pipe, question) :]
            elif ended:
                raise EOFError

    @staticmethod
    def wait_for(pipe: int, event: int, end_s: float, ended: bool) -> bool:
        """Whether a pipe is ready soon; `TimeoutError` past the end, also if bytes still arrive."""
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        poll = select.poll()
        poll.register(pipe, event)
        return bool(poll.poll(0 if ended else 1000 * min(left_s, ASK_POLL_S)))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.questions.close()
        self.answers.close()


# --- The machine ---------------------------------------------------------------------------------


def cpu_ticks() -> dict[str, list[int]]:
    """(user, nice, system, idle, iowait, irq, softirq, steal) of each CPU, cumulative."""
    lines = (line.split() for line in (read_text("/proc/stat") or "").splitlines())
    rows = (row for row in lines if row[0].startswith("cpu") and row[0] != "cpu")
    return {row[0][3:]: [int(field) for field in row[1:9]] for row in rows}


def cpu_khz(devices: Path, cpus: Iterable[str]) -> dict[str, int]:
    """The clock frequency of those of `cpus` that report it; few virtual machines do."""
    clocks = {cpu: read_number(devices / f"cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus}
    return {cpu: khz for cpu, khz in clocks.items() if khz is not None}


def network_counters() -> dict[str, int]:
    wanted = ("ListenDrops", "ListenOverflows", "RetransSegs", "TCPTimeWaitOverflow")
    counters: dict[str, int] = {}
    for name in ("netstat", "snmp"):
        lines = (read_text(f"/proc/net/{name}") or "").splitlines()
        for keys, values in zip(lines[::2], lines[1::2]):  # noqa: B905 (strict= needs 3.10)
            pairs = zip(keys.split(), values.split())  # noqa: B905
            counters.update((key, int(value)) for key, value in pairs if key in wanted)
    return counters


def listen_drops() -> int | None:
    """Connections that full listen queues of this network namespace have dropped so far."""
    counters = network_counters()
    seen = [counters[name] for name in ("ListenDrops", "ListenOverflows") if name in counters]
    return max(seen, default=None)


def pressure_cpu_us() -> int | None:
    for line in (read_text("/proc/pressure/cpu") or "").splitlines():
        if line.startswith("some"):
            return int(line.rpartition("total=")[2])
    return None


class Watch(threading.Thread):
    """Samples the machine and some trees until `finish`."""

    def __init__(self, trees: dict[str, Tree], interval_s: float) -> None:
        super().__init__(daemon=True)
        self.trees = trees
        self.interval_s = interval_s
        self.over = threading.Event()
        self.failure: Exception | None = None
        self.samples = [self.sample(with_usage=True)]
        self.start()

    def sample(self, with_usage: bool) -> Json:
        meminfo = keyed(read_text("/proc/meminfo"))
        ticks = cpu_ticks()
        return {
            "at_s": time.monotonic(),
            "cpu_ticks": ticks,
            "usage": dict(self.usages()) if with_usage else {},
            "network": network_counters(),
            "pressure_cpu_us": pressure_cpu_us(),
            "memory_available_bytes": 1024 * meminfo.get("MemAvailable", 0),
            "cpu_khz": cpu_khz(CPU_DEVICES, ticks),
        }

    def usages(self) -> Iterator[tuple[str, Json]]:
        """The usage of every tree that has not been stopped since."""
        for name, tree in self.trees.items():
            with contextlib.suppress(Fault):
                yield name, tree.usage()

    def run(self) -> None:
        try:
            self.keep_sampling()
        except Exception as error:
            self.failure = error

    def keep_sampling(self) -> None:
        start_s = self.samples[0]["at_s"]
        due_s, usage_due_s = start_s + self.interval_s, start_s + USAGE_INTERVAL_S
        while not self.over.wait(max(0.0, due_s - time.monotonic())):
            with_usage = due_s >= usage_due_s
            self.samples.append(self.sample(with_usage))
            if with_usage:
                usage_due_s = due_s + USAGE_INTERVAL_S
            due_s = max(due_s + self.interval_s, time.monotonic())

    def finish(self) -> list[Json]:
        self.over.set()
        self.join()
        if self.failure:
            raise Fault(f"the watch failed: {self.failure!r}")
        return [*self.samples, self.sample(with_usage=True)]


SYSCTLS = (
    "net/core/somaxconn",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_syncookies",
    "kernel/io_uring_disabled",
    "kernel/randomize_va_space",
    "vm/overcommit_memory",
)


def fingerprint(containment: Containment, isolated: bool) -> Json:
    """Properties that may explain a figure; none that identifies machine, address or user."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    network: Json = {"network": "isolated"} if isolated else {}
    return {
        **network,
        "cpu": cpu_fingerprint(),
        "memory_total_bytes": 1024 * keyed(read_text("/proc/meminfo")).get("MemTotal", 0),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "os": os_name(),
        "clocksource": read_text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "open_files_soft": soft,
        "open_files_hard": hard,
        "sysctl": {name.replace("/", "."): read_text(f"/proc/sys/{name}") for name in SYSCTLS},
        "containment": containment.name,
        "memory_source": containment.memory_source,
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
    }


def cpu_fingerprint() -> Json:
    info = read_text("/proc/cpuinfo") or ""
    fields: dict[str, str] = {}
    for line in info.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    folders = sorted(CPU_DEVICES.glob("cpu[0-9]*"), key=lambda folder: int(folder.name[3:]))
    weaknesses = sorted((CPU_DEVICES / "vulnerabilities").glob("*"))
    return {
        "model": fields.get("model name") or fields.get("Model") or platform.processor() or None,
        "logical": os.cpu_count(),
        "allowed": sorted(os.sched_getaffinity(0)),
        "smt_active": read_number(CPU_DEVICES / "smt/active"),
        "siblings": {
            folder.name[3:]: read_text(folder / "topology/thread_siblings_list")
            for folder in folders
        },
        "packages": len({read_text(f / "topology/physical_package_id") for f in folders}),
        "governors": sorted(
            {read_text(f / "cpufreq/scaling_governor") or "unknown" for f in folders}
        ),
        "turbo": turbo(CPU_DEVICES),
        "virtual_machine": "hypervisor" in fields["flags"].split() if "flags" in fields else None,
        "mitigations": {path.name: read_text(path) for path in weaknesses},
    }


def turbo(devices: Path) -> bool | None:
    no_turbo = read_number(devices / "intel_pstate/no_turbo")
    boost = read_number(devices / "cpufreq/boost")
    if no_turbo is not None:
        return no_turbo == 0
    return None if boost is None else boost == 1


def os_name() -> str | None:
    for line in (read_text("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


# --- Ports, connections, files -------------------------------------------------------------------


class Ports:
    """Hands out free TCP ports, each only once while others are left.

    The ports are outside the kernel's range of client ports, if that leaves any. Otherwise a
    connection of a load test could take the port before the server does.
    """

    def __init__(self) -> None:
        text = read_text("/proc/sys/net/ipv4/ip_local_port_range") or "32768 60999"
        low, high = map(int, text.split())
        self.left = [port for port in range(10_000, 65_536) if not low <= port <= high]
        random.shuffle(self.left)

    def take(self) -> int:
        while self.left:
            port = self.left.pop()
            if is_free(port):
                return port
        with socket.socket() as probe:
            probe.bind(("", 0))
            return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


LISTENING = "0A"  # the state in /proc/net/tcp


def listening_sockets() -> dict[int, Json]:
    """The address, port and user of each listening TCP socket here, by inode (proc_net(5))."""
    sockets: dict[int, Json] = {}
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        with contextlib.suppress(OSError), Path(f"/proc/net/{name}").open() as table:
            for line in table:
                fields = line.split()
                if fields[3] == LISTENING:
                    words, _, port = fields[1].partition(":")
                    address = b"".join(
                        int(words[at : at + 8], 16).to_bytes(4, sys.byteorder)
                        for at in range(0, len(words), 8)
                    )
                    sockets[int(fields[9])] = {
                        "address": socket.inet_ntop(family, address),
                        "port": int(port, 16),
                        "user": int(fields[7]),
                    }
    return sockets


def sockets_of(pid: int) -> set[int] | None:
    """The inodes of a process's sockets; None if this user may not see them."""
    inodes = set()
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 (of names, not paths)
            with contextlib.suppress(FileNotFoundError):
                target = os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115 (for 3.8)
                if target.startswith("socket:["):
                    inodes.add(int(target[8:-1]))
    except PermissionError:
        return None
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return inodes


def listeners(tree: list[int], port: int) -> Json:
    """The listening sockets of a tree, and those of other processes on `port`.

    A sandbox may show no sockets, or not all, so a socket of this process is looked for too.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        sockets = listening_sockets()
        if sockets.pop(os.fstat(probe.fileno()).st_ino, None) is None:
            return {"own": [], "others": [], "complete": False}
    held = [sockets_of(pid) for pid in tree]
    inodes = set().union(*(each for each in held if each is not None))
    complete = None not in held
    others = {i: row for i, row in sockets.items() if i not in inodes and row["port"] == port}
    users = {user for pid in tree if (user := user_of(pid)) is not None}
    names = holders(set(others))
    for inode, row in others.items():
        if complete and inode not in names and row["user"] not in users:
            names[inode] = f"a process of user {row['user']}"

    def row_of(inode: int, process: str | None) -> Json:
        socket_row = sockets[inode]
        return {"address": socket_row["address"], "port": socket_row["port"], "process": process}

    return {
        "own": [row_of(inode, None) for inode in sockets if inode in inodes],
        "others": [row_of(inode, names.get(inode)) for inode in others],
        "complete": complete,
    }


def holders(inodes: set[int]) -> dict[int, str]:
    """The name of a process that holds each of these sockets, where that can be seen."""
    names: dict[int, str] = {}
    for pid in numbered(Path("/proc")) if inodes else []:
        for inode in (sockets_of(pid) or set()) & inodes:
            names.setdefault(inode, read_text(f"/proc/{pid}/comm") or f"process {pid}")
    return names


def user_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def exchange(host: str, port: int, payload: bytes, silence_s: float, deadline_s: float) -> Json:
    """Send and receive; `deadline_s` bounds all of it, however often single bytes arrive."""
    where = f"{host}:{port}"
    end_s = time.monotonic() + deadline_s
    try:
        connection = socket.create_connection((host, port), min(silence_s, deadline_s))
    except OSError as error:
        raise Fault(f"no connection to {where}: {error}") from error
    received = bytearray()
    closed, in_time = False, True
    with connection:
        try:
            connection.settimeout(max(0.001, end_s - time.monotonic()))
            connection.sendall(payload)
            while not closed and in_time:
                left_s = end_s - time.monotonic()
                connection.settimeout(max(0.001, min(silence_s, left_s)))
                chunk = connection.recv(1 << 16)
                received += chunk
                closed, in_time = not chunk, time.monotonic() < end_s
                if len(received) > EXCHANGE_BYTES_MAX:
                    raise Fault(f"{where} sent more than {EXCHANGE_BYTES_MAX} bytes")
        except socket.timeout:  # noqa: UP041 (not TimeoutError before 3.10)
            in_time = time.monotonic() < end_s
        except OSError as error:
            if not received:
                raise Fault(f"{where} closed the connection: {error}") from error
            closed = True
    answer = base64.b64encode(received).decode()
    return {"received": answer, "closed": closed, "in_time": closed or in_time}


def read_tail(path: str, size_bytes: int) -> str:
    try:
        with Path(path).open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size_bytes))
            return file.read(size_bytes).decode(errors="replace")
    except OSError as error:
        raise Fault(f"cannot read {path}: {error.strerror}") from error


# --- Requests ------------------------------------------------------------------------------------


class Agent:
    def __init__(self, containment: Containment, isolated: bool = False) -> None:
        self.containment = containment
        self.ports = Ports()
        self.trees: dict[str, Tree] = {}
        self.stopped: dict[str, Json] = {}
        self.watches: dict[str, Watch] = {}
        self.conversations: dict[str, Conversation] = {}
        self.watch_numbers = itertools.count(1)
        self.starting = threading.Lock()
        self.closing = False
        Limiter(self.trees, containment.cgroup is not None).start()
        self.requests: dict[str, Callable[..., Any]] = {
            "fingerprint": lambda: fingerprint(containment, isolated),
            "run": self.run,
            "start": self.start,
            "converse": self.converse,
            "ask": self.ask,
            "compiler_cpu_s": lambda process: compiler_cpu_s(self.tree(process).members()),
            "listeners": lambda process, port: listeners(self.tree(process).members(), port),
            "members": lambda process: start_times(self.tree(process).members()),
            "alive": self.alive,
            "usage": lambda process: self.tree(process).usage(),
            "listen_drops": listen_drops,
            "freeze": self.freeze,
            "thaw": self.thaw,
            "stop": self.stop,
            "watch": self.watch,
            "unwatch": self.unwatch,
            "exchange": self.exchange,
            "free_port": self.ports.take,
            "read_tail": read_tail,
        }

    def launch(
        self, spec: Json, stdout: Any, stderr: Any, log: IO[bytes] | None = None
    ) -> tuple[str, Tree]:
        with self.starting:
            if self.closing:
                raise Fault("the agent is closing")
            tree = self.containment.start(spec, stdout, stderr)
            if log:
                tree.log = Log(log, tree.limits["log_bytes"])
            name = str(self.containment.started)
            self.trees[name] = tree
            return name, tree

    def tree(self, process: str) -> Tree:
        if process in self.trees:
            return self.trees[process]
        raise Fault(f"no process {process}: {'stopped' if process in self.stopped else 'unknown'}")

    def run(self, spec: Json, timeout_s: float) -> Json:
        name, tree = self.launch(spec, subprocess.PIPE, subprocess.PIPE)
        assert tree.process.stdout is not None
        assert tree.process.stderr is not None
        stdout, stderr = Capture(tree.process.stdout), Capture(tree.process.stderr)
        in_time = tree.ended.wait(timeout_s)
        cpu_s = tree.cpu_s()
        tree.kill()
        del self.trees[name]
        tree.ended.wait(KERNEL_DEADLINE_S)
        return {
            "exit_code": tree.exit_code if in_time else None,
            "stdout": stdout.text(),
            "stderr": stderr.text(),
            "elapsed_s": tree.ended_s - tree.started_s,
            "cpu_s": cpu_s,
            "limit": tree.limit,
        }

    def start(self, spec: Json, log_path: str) -> str:
        try:
            log = Path(log_path).open("wb")  # noqa: SIM115 (closed below)
        except OSError as error:
            raise Fault(f"cannot write the log {log_path}: {error.strerror}") from error
        with log:
            return self.launch(spec, log, subprocess.STDOUT, log)[0]

    def converse(self, spec: Json, log_path: str) -> str:
        """Start a process for `ask`; its standard error goes to the log."""
        reader, writer = os.pipe()
        try:
            log = Path(log_path).open("wb")  # noqa: SIM115 (closed below)
        except OSError as error:
            os.close(reader)
            os.close(writer)
            raise Fault(f"cannot write the log {log_path}: {error.strerror}") from error
        try:
            with log:
                name, tree = self.launch(dict(spec, stdin_fd=reader), subprocess.PIPE, log, log)
        except BaseException:
            os.close(writer)
            raise
        finally:
            os.close(reader)
        self.conversations[name] = Conversation(tree, os.fdopen(writer, "wb", 0), log_path)
        return name

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        if process not in self.conversations:
            raise Fault(f"process {process} does not take questions")
        return self.conversations[process].ask(line, deadline_s)

    def alive(self, process: str) -> Json | None:
        if process in self.stopped:
            return self.stopped[process]
        tree = self.tree(process)
        return tree.exited() if tree.ended.is_set() else None

    def freeze(self, process: str) -> None:
        tree = self.tree(process)
        tree.freeze()
        tree.freezes += 1
        tree.frozen = True

    def thaw(self, process: str) -> None:
        tree = self.tree(process)
        tree.frozen = False
        tree.thaw()

    def stop(self, process: str, signal_name: str, deadline_s: float) -> Json:
        if process in self.stopped:
            return self.stopped[process]
        number = getattr(signal.Signals, signal_name, None)
        if number is None:
            raise Fault(f"no such signal: {signal_name}", "such as SIGTERM, SIGINT or SIGQUIT")
        self.stopped[process] = self.tree(process).stop(number, deadline_s)
        if process in self.conversations:
            self.conversations.pop(process).close()
        self.trees.pop(process, None)
        return self.stopped[process]

    def watch(self, processes: list[str], interval_s: float) -> str:
        name = str(next(self.watch_numbers))
        self.watches[name] = Watch({p: self.tree(p) for p in processes}, interval_s)
        return name

    def unwatch(self, watch: str) -> list[Json]:
        if watch not in self.watches:
            raise Fault(f"no watch {watch}")
        return self.watches.pop(watch).finish()

    def exchange(
        self, host: str, port: int, payload: str, silence_s: float, deadline_s: float
    ) -> Json:
        return exchange(host, port, base64.b64decode(payload), silence_s, deadline_s)

    def close(self) -> bool:
        """Kill every tree. If one cannot be killed, print the error and return False."""
        faults = []
        with self.starting:
            self.closing = True
            for end in (*[tree.kill for tree in self.trees.values()], self.containment.close):
                try:
                    end()
                except (Fault, OSError) as error:
                    faults.append(error)
        for fault in faults:
            print(fault, file=sys.stderr, flush=True)
        return not faults


class Session:
    """Reads requests and answers each in its own thread, one line at a time."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.writing = threading.Lock()

    def serve(self, lines: IO[bytes]) -> None:
        self.reply({"id": 0, "ok": {"containment": self.agent.containment.name}})
        for line in lines:
            threading.Thread(target=self.answer, args=(json.loads(line),), daemon=True).start()

    def answer(self, request: Json) -> None:
        number, name = request.pop("id"), request.pop("do")
        try:
            if name not in self.agent.requests:
                raise Fault(f"unknown request: {name}")
            self.reply({"id": number, "ok": self.agent.requests[name](**request)})
        except Fault as fault:
            self.reply({"id": number, "error": fault.as_json()})
        except Exception as error:
            message = f"the agent failed in {name}: {type(error).__name__}: {error}"
            self.reply({"id": number, "error": {"message": message, "hint": None}})

    def reply(self, answer: Json) -> None:
        with self.writing, contextlib.suppress(BrokenPipeError):
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def isolate() -> None:
    try:
        enter_network_namespace()
    except (Fault, OSError) as error:
        raise Fault(
            f"this host gives no network namespace: {error}",
            "run as root, allow user namespaces, or omit --isolate",
        ) from error


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The process agent of deadheat.")
    parser.add_argument(
        "--containment",
        choices=CONTAINMENTS,
        help="way to contain processes; default: the first that works",
    )
    parser.add_argument(
        "--isolate", action="store_true", help="work in a network namespace with only loopback"
    )
    parser.add_argument("--launch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--keep", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.keep is not None:
        keep_main(options.keep)
    if options.launch is not None:
        launch_main(options.launch)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        if options.isolate:
            isolate()
        agent = Agent(Containment(options.containment), options.isolate)
    except Fault as fault:
        print(json.dumps({"id": 0, "error": fault.as_json()}), flush=True)
        return 1
    try:
        with contextlib.suppress(SystemExit):
            Session(agent).serve(sys.stdin.buffer)
    finally:
        clean = agent.close()
    return 0 if clean else 1


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
