"""Servers that leave their cgroup, as root can: they end with deadheat all the same."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.host import HostError, ProcessSpec
from deadheat.host.agent import escaped
from deadheat.host.agent.escaped import end_tagged, tags
from deadheat.host.agent.kernel import numbered, stat_fields
from deadheat.host.agent.program import Fault
from deadheat.host.local import LocalHost
from tests.host.support import eventually, living, log, start_harness

LEAVES = """
import os, sys, time
from pathlib import Path
def leave():
    mounts = [line.split() for line in open("/proc/self/mounts")]
    root = next(fields[1] for fields in mounts if fields[2] == "cgroup2")
    Path(root, "cgroup.procs").write_text("0")
if sys.argv[2] == "first":
    leave()
elif sys.argv[2] == "child":
    if os.fork():
        while True: time.sleep(60)
    leave()
elif os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    leave()
    if sys.argv[2] == "bare" and len(sys.argv) == 3:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"], {})
elif len(sys.argv) == 3:
    while True: time.sleep(60)
ticks = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
Path(sys.argv[1], str(os.getpid())).write_text(ticks)
while True: time.sleep(60)
"""
in_cgroups = pytest.mark.parametrize("containment", ["cgroup-v2"], indirect=True)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may leave a cgroup")


def leaving(marks: Path, who: str) -> ProcessSpec:
    marks.mkdir(exist_ok=True)
    command = [sys.executable, "-I", "-S", "-c", LEAVES, str(marks), who]
    return ProcessSpec(command, limited=True)


@as_root
@in_cgroups
@pytest.mark.parametrize("who", ["first", "child", "second", "bare"])
def test_bug_a_server_that_left_its_cgroup_outlived_deadheat(
    containment: str, tmp_path: Path, who: str
) -> None:
    marks = tmp_path / "marks"
    with LocalHost(containment) as host:
        process = host.start(leaving(marks, who), log(tmp_path))
        eventually(lambda: bool([*marks.iterdir()]))
        if who == "second":
            exited = host.stop(process, "SIGKILL", 0.1)
            assert exited.survivors >= 1
            assert living(marks) == []
        if who in ("first", "child"):
            eventually(lambda: host.alive(process) is not None)
            ended = host.alive(process)
            assert ended is not None
            assert (ended.limit or "").startswith("left_cgroup: process ")
    assert living(marks) == []


@as_root
@in_cgroups
@pytest.mark.parametrize("victim", ["cli", "agent"])
@pytest.mark.usefixtures("own_cgroups")
def test_bug_a_server_that_left_its_cgroup_outlived_a_killed_agent(
    containment: str, tmp_path: Path, victim: str
) -> None:
    marks = tmp_path / "marks"
    process, agent = start_harness(containment, leaving(marks, "second"), tmp_path)
    with process:
        eventually(lambda: bool([*marks.iterdir()]))
        os.kill(process.pid if victim == "cli" else agent, signal.SIGKILL)
        eventually(lambda: not living(marks), within_s=20)
        process.kill()


def test_orphans_do_not_stay_as_zombies(containment: str, tmp_path: Path) -> None:
    code = (
        "import os, time\nfor _ in range(20):\n"
        "    if os.fork() == 0:\n        if os.fork(): os._exit(0)\n        os._exit(0)\n"
        "    os.wait()\ntime.sleep(600)"
    )
    with LocalHost(containment) as host:
        host.start(ProcessSpec([sys.executable, "-I", "-S", "-c", code]), log(tmp_path))
        agent = host._agent.pid
        host.sleep(1.0)
        eventually(lambda: zombies(agent) == 0)


def zombies(parent: int) -> int:
    stats = filter(None, map(stat_fields, numbered(Path("/proc"))))
    return sum(fields[0] == "Z" and int(fields[1]) == parent for fields in stats)


def test_names_what_cannot_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in an endless system call survives SIGKILL; here nothing is sent."""
    environment = {**os.environ, "DEADHEAT_TREE": "deadheat-test-names/1"}
    command = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(command, env=environment) as process:
        eventually(lambda: (process.pid, "deadheat-test-names/1") in tags())
        with monkeypatch.context() as patch:
            patch.setattr(escaped, "kill_all", lambda pids: None)
            with pytest.raises(Fault, match=rf"left running: {process.pid} \(python") as raised:
                end_tagged("deadheat-test-names", 0.0)
        assert raised.value.hint == f"end them yourself: kill -9 {process.pid}"
        end_tagged("deadheat-test-names")
        assert process.wait() == -signal.SIGKILL


UNKILLABLE = """
import os, sys, time
from pathlib import Path
if os.fork():
    while True: time.sleep(60)
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
Path(sys.argv[1], "freezer.state").write_text("FROZEN")
"""


@pytest.fixture
def freezer(tmp_path: Path) -> Iterator[Path]:
    """A cgroup v1 whose processes can be frozen: SIGKILL ends them only when they thaw."""
    folder = Path("/sys/fs/cgroup/freezer", f"deadheat-test-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no process can be made unkillable here: {error}")
    yield folder
    (folder / "freezer.state").write_text("THAWED")
    eventually(lambda: (folder / "cgroup.procs").read_text() == "")
    folder.rmdir()


@as_root
@in_cgroups
def test_bug_a_process_that_cannot_be_ended_had_no_name_in_the_error(
    containment: str, freezer: Path, tmp_path: Path
) -> None:
    host = LocalHost(containment)
    command = [sys.executable, "-I", "-S", "-c", UNKILLABLE, str(freezer)]
    host.start(ProcessSpec(command), log(tmp_path))
    eventually(lambda: (freezer / "freezer.state").read_text() == "FROZEN\n")
    pid = (freezer / "cgroup.procs").read_text().strip()
    with pytest.raises(HostError, match=rf"^left running: {pid} \(python") as raised:
        host.close()
    assert raised.value.hint == f"end them yourself: kill -9 {pid}"
