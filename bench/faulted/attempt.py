"""One command of deadheat, disturbed once or not at all, and what is wrong after it."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.faulted.matrix import (
    DESCRIPTORS,
    FOR_GOOD,
    LEFT_MIB_MAX,
    LONG_STOP,
    OOM_BYTES,
    SPAN_S,
    Fault,
)
from bench.faulted.processes import PARTS, Terminal, Traces, children, marked, parts
from bench.faulted.sandbox import CATALOG, Sandbox
from deadheat.host.agent.cgroup import cgroup_of

HOOK = Path(__file__).with_name("hook.py")
END_S_MAX = 120.0  # an undisturbed command takes 6 s
LEAVE_S_MAX = 25.0  # for the processes that a killed command leaves
SILENT_S = 4.0  # when a stopped agent counts as hung; 120 s without the hook
STOP_S_MAX = 1.0
LONG_STOP_S = 20.0
WAIT_S = 0.5
CODES = {0, 1, 3, 4, 5, 130}  # docs/scripts.md


@dataclass(frozen=True, slots=True)
class Injection:
    """A fault, and the how manieth occurrence of its moment it hits."""

    fault: Fault
    number: int
    order: random.Random


@dataclass(slots=True)
class Outcome:
    """What an attempt came to. `inside`: the moment was not over when the fault came."""

    code: int | None = None
    stderr: str = ""
    elapsed_s: float = 0.0
    injected: bool = False
    inside: bool = False
    delay_s: float = 0.0
    failures: list[str] = field(default_factory=list)


class Moments(threading.Thread):
    """Follows the report of the hook: the moments that are open, and the stored trials."""

    def __init__(self, descriptor: int, rates: dict[int, float | None]) -> None:
        super().__init__(daemon=True)
        self._lines = os.fdopen(descriptor, "rb")
        self._rates = rates  # of the acknowledged trials, by their id
        self._news = threading.Condition()
        self._open: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._over = False
        self.start()

    def run(self) -> None:
        for line in self._lines:
            report = json.loads(line)
            with self._news:
                if "begin" in report:
                    self._open[report["begin"]] += 1
                    self._begun[report["begin"]] += 1
                elif "end" in report:
                    self._open[report["end"]] -= 1
                else:
                    self._rates[report["trial"]] = report["rate_per_s"]
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def is_open(self, moment: str) -> bool:
        with self._news:
            return self._open[moment] > 0

    def wait_for(self, moment: str, number: int) -> bool:
        """Wait for the `number`th time that the moment begins; False if the command ends first."""
        with self._news:
            self._news.wait_for(
                lambda: self._over or self._begun[moment] >= number, timeout=END_S_MAX
            )
            return self._begun[moment] >= number


def attempt(
    sandbox: Sandbox,
    arguments: Sequence[str],
    containment: str | None,
    rates: dict[int, float | None],
    injection: Injection | None = None,
) -> Outcome:
    """Run a command, inject the fault, wait for the end, and check what is left."""
    fault = injection.fault if injection else None
    hung = fault is not None and (fault.part, fault.signal) == ("agent", FOR_GOOD)
    settings = {
        "containment": containment,
        "deadline_s": SILENT_S if hung else 1000,
        "descriptors": DESCRIPTORS if sandbox.kind == "limit" else None,
        "terminal": sandbox.kind == "pty",
    }
    terminal = Terminal() if sandbox.kind == "pty" else None
    reader, writer = os.pipe()
    outcome = Outcome()
    begun_s = time.monotonic()
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(
            [
                *sandbox.prefix,
                *(sys.executable, str(HOOK), str(writer), json.dumps(settings), *arguments),
            ],
            env=sandbox.environment,
            cwd=sandbox.repository if sandbox.repository.exists() else sandbox.root,
            stdin=terminal.theirs if terminal else subprocess.DEVNULL,
            stdout=terminal.theirs if terminal else subprocess.DEVNULL,
            stderr=terminal.theirs if terminal else stderr,
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        if terminal is not None:
            os.close(terminal.theirs)
        moments = Moments(reader, rates)
        traces = None
        if injection is not None:
            traces = _inject(process.pid, moments, sandbox, injection, outcome, terminal)
        outcome.code = _wait(process)
        if outcome.code is None:
            outcome.failures.append(f"did not end within {END_S_MAX:g} s")
            process.kill()
            process.wait()
        outcome.elapsed_s = time.monotonic() - begun_s
        moments.join(LEAVE_S_MAX)
        stderr.seek(0)
        outcome.stderr = stderr.read() if terminal is None else terminal.close()
    outcome.failures += _left(sandbox, traces)
    outcome.failures += _misbehavior(outcome, fault)
    return outcome


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code; None past the deadline, without the time in which this process was stopped."""
    for _ in range(round(END_S_MAX / WAIT_S)):
        try:
            return process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            continue
    return None


def _inject(
    cli: int,
    moments: Moments,
    sandbox: Sandbox,
    injection: Injection,
    outcome: Outcome,
    terminal: Terminal | None,
) -> Traces | None:
    """Wait for the moment and for a process to hit; None if the command ended before that."""
    fault, number, order = injection.fault, injection.number, injection.order
    outcome.delay_s = round(order.uniform(0, SPAN_S[fault.moment]), 4)
    is_any = fault.moment == "any"
    while moments.wait_for("store" if is_any else fault.moment, number):
        if sandbox.prefix and (inner := children(cli)):
            (cli,) = inner  # the command itself, below the one that makes its namespace
        if is_any:
            time.sleep(outcome.delay_s)
        targets = [cli] if fault.part == "cli" else []
        if fault.part in PARTS and not targets:
            targets = parts(cli)[fault.part]
        traces = Traces.of(cli) if fault.moment != "store" else None
        if not is_any:
            time.sleep(outcome.delay_s)
        inside = is_any or moments.is_open(fault.moment)
        if fault.kind in ("disk", "clock"):
            _change_machine(sandbox, fault)
        elif fault.kind == "twin":
            outcome.failures += _run_twin(sandbox)
        elif fault.kind in ("files", "memory", "oom"):
            if not _take(cli, fault, sandbox, order):
                return None
        elif terminal is not None:
            terminal.close()
        elif fault.kind == "escape":
            if not targets or not _move_out(order.choice(targets)):
                number += 1
                continue
        elif not targets or not _send(order.choice(targets), fault.signal, order):
            number += 1
            continue
        outcome.injected, outcome.inside = True, inside
        return traces
    return None


def _change_machine(sandbox: Sandbox, fault: Fault) -> None:
    if fault.kind == "disk":
        sandbox.fill_disk()
    else:
        sandbox.step_clock(3600 if fault.signal == "+1 h" else -3600)


def _take(pid: int, fault: Fault, sandbox: Sandbox, order: random.Random) -> bool:
    """Give the command no more descriptors, or hardly any memory; False if it has ended."""
    try:
        if fault.kind == "oom":
            return sandbox.starve(pid, OOM_BYTES)
        if fault.kind == "files":
            kind = resource.RLIMIT_NOFILE
            most = max(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()) + 1
        else:
            kind = resource.RLIMIT_AS
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + (order.randint(0, LEFT_MIB_MAX) << 20)
        resource.prlimit(pid, kind, (most, most))
    except (ProcessLookupError, FileNotFoundError, ValueError, IndexError):
        return False
    return True


def _move_out(pid: int) -> bool:
    """Move a process out of its cgroup, as a server of root's can; False if it has ended."""
    home = Path(cgroup_of("self") or "/")
    root = next(path for path in (home, *home.parents) if path.is_mount())
    try:
        (root / "cgroup.procs").write_text(str(pid))
    except ProcessLookupError:
        return False
    return True


def _run_twin(sandbox: Sandbox) -> list[str]:
    """Another race into the same store, in the middle of the first one; both go on to their end."""
    words = ["run", "alpha", "beta", "--protocol", str(CATALOG / "protocols" / "faults.toml")]
    command = [sys.executable, "-c", "from deadheat.cli import main; main()", *words]
    done = subprocess.run(
        command,
        env=sandbox.environment,
        cwd=sandbox.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=END_S_MAX,
    )
    wrong = done.returncode not in CODES or "Traceback" in done.stderr
    return [f"twin: exit code {done.returncode}: {_tail(done.stderr)}"] if wrong else []


def _send(pid: int, name: str, order: random.Random) -> bool:
    """Send the signal; False if the process has ended."""
    try:
        os.kill(pid, getattr(signal.Signals, f"SIG{name.split()[0]}"))
        if name in ("STOP", LONG_STOP):
            time.sleep(LONG_STOP_S if name == LONG_STOP else order.uniform(0.02, STOP_S_MAX))
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def _left(sandbox: Sandbox, traces: Traces | None) -> list[str]:
    """Processes, sockets and cgroups that are left. Ends such processes after the check."""
    end_s = time.monotonic() + LEAVE_S_MAX
    left: list[str] = []
    while time.monotonic() < end_s:
        pids = marked(sandbox.mark)
        left = [f"left process {pid}" for pid in pids]
        left += [f"left {trace}" for trace in (traces.left() if traces else [])]
        if not left:
            return []
        time.sleep(0.05)
    for pid in marked(sandbox.mark):
        os.kill(pid, signal.SIGKILL)
    return left


def _misbehavior(outcome: Outcome, fault: Fault | None) -> list[str]:
    """A traceback, and an exit code that docs/scripts.md does not have."""
    failures = []
    for words in ("Traceback (most recent", "Exception ignored", "panicked at"):
        if words in outcome.stderr:
            failures.append(f"stderr: {_tail(outcome.stderr)}")
            break
    codes = CODES | ({-signal.SIGKILL} if fault is not None and fault.kind == "oom" else set())
    if fault is not None and fault.part == "cli" and (fault.signal == "KILL" or not outcome.inside):
        name = "HUP" if fault.kind == "pty" else fault.signal.split()[0]
        codes = CODES | {-getattr(signal.Signals, f"SIG{name}")}  # or it was over
    if outcome.code is not None and outcome.code not in codes:
        failures.append(f"exit code {outcome.code}: {_tail(outcome.stderr)}")
    return failures


def _tail(text: str) -> str:
    return text.strip()[-600:]


def record(fault: Fault, outcome: Outcome) -> dict[str, Any]:
    """An attempt as it is stored."""
    return {
        "target": fault.target,
        "signal": fault.signal,
        "moment": fault.moment,
        "inside": outcome.inside,
        "delay_s": outcome.delay_s,
        "exit_code": outcome.code,
        "elapsed_s": round(outcome.elapsed_s, 1),
        "failures": outcome.failures,
    }
