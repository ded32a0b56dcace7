"""A started command and its descendants."""

from __future__ import annotations

import abc
import contextlib
import json
import os
import subprocess
import threading
import time
from typing import IO, Any

from .escaped import end_tagged, kill_all, tagged
from .kernel import (
    KERNEL_DEADLINE_S,
    TICKS_PER_S,
    Family,
    descendants,
    memory_of,
    peak_of,
    stat_fields,
    switches_of,
)
from .log import Log
from .program import ARCHIVE_FDS, LOG_BYTES_MAX, PROCESSES_MAX, Fault, Json, own_command

FAULTS_AT = (7, 9)  # in `stat_fields`: minor and major page faults of a process
START_DEADLINE_S = 60.0  # from the start of our launcher to the exec; then it is killed


class Processes(abc.ABC):
    """Processes whose use of CPU time and memory is read together."""

    memory_peak_bytes = 0

    def __init__(self) -> None:
        self.switches: dict[int, tuple[int, int]] = {}  # of each thread, as last read
        self.switches_total = (0, 0)
        self.cpu_ticks = (0, 0)  # user and system, as last added up

    @abc.abstractmethod
    def members(self, family: Family | None = None) -> list[int]:
        """Those that live now, or lived at the moment of `family`."""

    @abc.abstractmethod
    def cpu_times_s(self) -> tuple[float, float]:
        """User and system time, also of dead processes; `Fault` if none is left."""

    def added_up_s(self, ticks: list[tuple[int, int]]) -> tuple[float, float]:
        """User and system time of these; the times before if those of an ended process lack."""
        sums = (sum(user for user, _ in ticks), sum(system for _, system in ticks))
        self.cpu_ticks = max(sums, self.cpu_ticks, key=sum)
        return self.cpu_ticks[0] / TICKS_PER_S, self.cpu_ticks[1] / TICKS_PER_S

    def cpu_s(self) -> float:
        return sum(self.cpu_times_s())

    def context_switches(self) -> tuple[int, int]:
        """Voluntary and involuntary ones of all threads; of ended ones, as last read."""
        read = switches_of(self.members())
        voluntary, involuntary = self.switches_total
        for thread, now in read.items():
            then = self.switches.get(thread, (0, 0))
            same = now[0] >= then[0] and now[1] >= then[1]  # else another has its id
            voluntary += now[0] - then[0] * same
            involuntary += now[1] - then[1] * same
        self.switches, self.switches_total = read, (voluntary, involuntary)
        return self.switches_total

    def memory(self) -> tuple[int, int]:
        """Anonymous and shared memory in bytes: now, and at its peak.

        The peak is the most of all readings so far, or of one process between them (`peak_of`).
        That of cgroups contains page cache, sockets and other memory of the kernel.
        """
        now = self.memory_now()
        marks = map(peak_of, self.members())
        self.memory_peak_bytes = max(self.memory_peak_bytes, now, *marks)
        return now, self.memory_peak_bytes

    def memory_now(self) -> int:
        return sum(map(memory_of, self.members()))

    def memory_apart(self) -> Json:
        """What memory does not contain: of sockets, and page cache; None if nothing counts it."""
        return {"socket_bytes": None, "cache_bytes": None}

    def usage(self, with_switches: bool = True) -> Json:
        """Context switches are in files of each thread, so a sample during a load has none."""
        memory, peak = self.memory()
        pids = self.members()
        stats = [fields for fields in map(stat_fields, pids) if fields]
        user_s, system_s = self.cpu_times_s()
        voluntary, involuntary = self.context_switches() if with_switches else (None, None)
        return {
            "cpu_s": user_s + system_s,
            "user_s": user_s,
            "system_s": system_s,
            "voluntary_switches": voluntary,
            "involuntary_switches": involuntary,
            "page_faults": sum(int(fields[at]) for fields in stats for at in FAULTS_AT),
            "memory_bytes": memory,
            "memory_peak_bytes": peak,
            **self.memory_apart(),
            "processes": len(pids),
            "threads": sum(int(fields[17]) for fields in stats),
        }


class Tree(Processes):
    """A running command with its descendants, as the agent sees it."""

    def __init__(self, spec: Json, stdout: Any, stderr: Any) -> None:
        super().__init__()
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
        self.container: int | None = None  # the first process of a container
        self.is_limited = spec["limited"]  # not a program of deadheat itself, such as its load
        self.tag = spec["tag"]  # see `escaped`; None for the client of a runtime
        self.is_client = spec["client"]  # of a runtime, whose container is adopted later
        self.frozen = False
        self.freezes = self.freezes_checked = 0
        reader, writer = os.pipe()
        inherited = [*ARCHIVE_FDS, writer]
        if spec["stdin_fd"] is not None:
            inherited.append(spec["stdin_fd"])
        try:
            self.process = subprocess.Popen(
                own_command("--launch", str(writer)),
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                pass_fds=inherited,
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
        """The client of a container exits with 128 + the number of the signal that ended it."""
        self.exit_code = 128 - code if self.container and code > 128 else code
        self.ended_s = time.monotonic()
        self.ended.set()

    def adopt(self, pid: int) -> None:
        """Be the tree of the container whose first process is `pid`.

        The command is the client of the runtime: its log and its end are those of the container.
        """
        try:
            os.kill(pid, 0)
        except ProcessLookupError as error:
            raise Fault(f"process {pid} of the container is dead") from error
        except PermissionError as error:
            raise Fault(
                f"process {pid} of the container belongs to another user",
                "run deadheat as that user, or use podman, which needs no daemon",
            ) from error
        self.container = pid

    def send(self, number: int) -> None:
        """Send a signal to the first process, of the container if there is one."""
        if self.container is None:
            self.signal_first(number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.container, number)

    @abc.abstractmethod
    def await_end(self) -> None:
        """Wait for the end of the first process and note it; runs in its own thread."""

    @abc.abstractmethod
    def signal_first(self, number: int) -> None:
        """Send a signal to the first process of the command if it is alive."""

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

    def left(self, pids: list[int]) -> int | None:
        """The first process, or a child of it, if it left the tree; `pids` are in it just now."""
        return None

    def outside(self) -> list[int]:
        """The living processes that left the tree's containment."""
        inside = {*self.members()}
        return [pid for pid in tagged(self.tag) if pid not in inside] if self.tag else []

    def end_outside(self) -> None:
        """Kill what left the containment, after the rest. `Fault` with the names of what is left.

        The first process may have started another program, which has no tag.
        """
        if not self.tag:
            return
        if self.process.poll() is None:
            pid = self.process.pid
            kill_all([*descendants(pid), pid])
        end_tagged(self.tag)

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
        end_s = time.monotonic() + deadline_s
        self.wait_empty(deadline_s)
        if self.container:  # its client reports the end a moment after the container is empty
            self.ended.wait(max(0.0, end_s - time.monotonic()))
        survivors = len({*self.members(), *self.outside()})
        killed = not self.ended.is_set() and survivors > 0
        self.kill()
        if not self.ended.wait(KERNEL_DEADLINE_S):
            raise Fault(f"process {self.process.pid} did not end within {KERNEL_DEADLINE_S:g} s")
        if self.log:
            self.log.close()
        return self.exited(survivors, killed)
