"""Idle CPUs of this machine, asleep as the kernel likes or kept awake."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from deadheat.host.agent.fingerprint import IdleCpus, first_cpu, is_virtual

PowerState = Literal["asleep", "awake"]
POWER_STATES: tuple[PowerState, PowerState] = ("asleep", "awake")
CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
SPINS = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@contextlib.contextmanager
def idle_cpus(state: PowerState) -> Iterator[None]:
    """Keeps idle CPUs awake, if that is the state.

    Where the kernel does not choose how they sleep, as on some virtual machines, a process of the
    lowest class spins on each CPU instead.
    """
    if state == "asleep":
        yield
        return
    held = IdleCpus(is_virtual(first_cpu()) is True)
    if held.hindrance() is None:
        held.keep_awake()
        try:
            yield
        finally:
            held.release()
        return
    with spinners():
        yield


def way_to_keep_awake() -> str:
    held = IdleCpus(is_virtual(first_cpu()) is True)
    return "latency request" if held.hindrance() is None else "idle-priority spinners"


@contextlib.contextmanager
def spinners() -> Iterator[None]:
    """One on each CPU, in a group that runs only if nothing else wants to.

    The scheduling class is not enough: with autogroups, it counts inside its session only.
    """
    group = CPU_GROUPS / f"deadheat-spinners-{os.getpid()}"
    group.mkdir()
    (group / "cpu.idle").write_text("1")
    processes = []
    try:
        for cpu in sorted(os.sched_getaffinity(0)):
            process = subprocess.Popen([sys.executable, "-I", "-S", "-c", SPINS, f"{cpu}"])
            (group / "cgroup.procs").write_text(f"{process.pid}")
            processes.append(process)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
        group.rmdir()
