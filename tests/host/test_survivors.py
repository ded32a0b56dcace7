import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.host import ProcessSpec
from deadheat.host.agent.cgroup import cgroup_candidates, sweep
from deadheat.host.agent.kernel import descendants
from deadheat.host.local import AGENT_PATH, LocalHost
from tests.host.support import eventually, living, log, python, start_harness

ADVERSARY = Path(__file__).with_name("adversary.py")
KEEPER_DEADLINE_S = 20.0  # far more than it takes, also on a busy machine
TREE_SIZE = 2**4 - 1  # adversary.py: a binary tree of four generations

# For tests that kill an agent, and look for what it leaves.
apart_from_sweeps = pytest.mark.usefixtures("own_cgroups")
in_cgroups = pytest.mark.parametrize("containment", ["cgroup-v2"], indirect=True)


def adversary(marks: Path) -> ProcessSpec:
    return ProcessSpec([sys.executable, str(ADVERSARY), str(marks)])


def wait_for_marks(marks: Path) -> None:
    def complete() -> bool:
        return len([mark for mark in marks.iterdir() if mark.read_text()]) == TREE_SIZE

    eventually(complete)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("frozen", [False, True])
def test_nothing_survives_a_stop(
    host: LocalHost, marks: Path, tmp_path: Path, frozen: bool
) -> None:
    process = host.start(adversary(marks), log(tmp_path))
    wait_for_marks(marks)
    assert len(living(marks)) == TREE_SIZE
    if frozen:
        host.freeze(process)
    exited = host.stop(process, "SIGTERM", deadline_s=0.1)
    assert (exited.killed, exited.exit_code, exited.survivors) == (True, None, TREE_SIZE)
    assert living(marks) == []


def test_nothing_survives_a_run_past_its_limit(host: LocalHost, marks: Path) -> None:
    completed = host.run(adversary(marks), timeout_s=1.0)
    assert completed.exit_code is None
    assert living(marks) == []


def test_orphans_of_a_run_that_ends_are_killed(host: LocalHost, marks: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, *sys.argv[1:]], start_new_session=True)\n"
        "while len(os.listdir(sys.argv[2])) < int(sys.argv[3]): time.sleep(0.01)"
    )
    completed = host.run(python(code, str(ADVERSARY), str(marks), str(TREE_SIZE)), timeout_s=60)
    assert completed.exit_code == 0
    assert living(marks) == []


def test_nothing_survives_close(containment: str, marks: Path, tmp_path: Path) -> None:
    with LocalHost(containment) as host:
        host.start(adversary(marks), log(tmp_path))
        agent = host._agent.pid
        wait_for_marks(marks)
    assert living(marks) == []
    assert cgroups_of(agent) == []


def start_adversary(
    containment: str, marks: Path, tmp_path: Path
) -> tuple[subprocess.Popen[str], int]:
    started = start_harness(containment, adversary(marks), tmp_path)
    wait_for_marks(marks)
    return started


@contextlib.contextmanager
def end_of(pid: int) -> Iterator[None]:
    """Wait at the end of the context until the process is dead."""
    watched = os.pidfd_open(pid)
    yield
    select.select([watched], [], [])
    os.close(watched)


def test_nothing_survives_a_killed_harness(containment: str, marks: Path, tmp_path: Path) -> None:
    harness, agent = start_adversary(containment, marks, tmp_path)
    with end_of(agent):
        harness.kill()
        harness.communicate()
    assert living(marks) == []


def test_nothing_survives_a_terminated_agent(containment: str, marks: Path, tmp_path: Path) -> None:
    harness, agent = start_adversary(containment, marks, tmp_path)
    with end_of(agent):
        os.kill(agent, signal.SIGTERM)
    assert living(marks) == []
    harness.kill()
    harness.communicate()


def keepers(agent: int) -> list[int]:
    """The keeper of an agent, if its containment needs one."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(agent)}
    return [pid for pid, command in commands.items() if b"\0--keep\0" in command]


@apart_from_sweeps
@pytest.mark.parametrize("frozen", [False, True])
def test_nothing_survives_a_killed_agent(
    containment: str, marks: Path, tmp_path: Path, frozen: bool
) -> None:
    harness, agent = start_adversary(containment, marks, tmp_path)
    assert harness.stdin is not None
    assert harness.stdout is not None
    if frozen:
        harness.stdin.write("freeze\n")
        harness.stdout.readline()
    with end_of(agent):
        os.kill(agent, signal.SIGKILL)
    eventually(lambda: living(marks) == [], within_s=KEEPER_DEADLINE_S)
    harness.kill()
    harness.communicate()


@apart_from_sweeps
def test_nothing_survives_a_killed_agent_with_its_harness(
    containment: str, marks: Path, tmp_path: Path
) -> None:
    harness, agent = start_adversary(containment, marks, tmp_path)
    os.kill(harness.pid, signal.SIGSTOP)  # it cannot close the agent's standard input first
    with end_of(agent):
        os.killpg(agent, signal.SIGKILL)
        harness.kill()
    harness.communicate()
    eventually(lambda: living(marks) == [], within_s=KEEPER_DEADLINE_S)


@apart_from_sweeps
@in_cgroups
def test_a_keeper_outlives_the_end_of_a_session_and_leaves_no_cgroup(
    containment: str, marks: Path, tmp_path: Path
) -> None:
    harness, agent = start_adversary(containment, marks, tmp_path)
    (keeper,) = keepers(agent)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        os.kill(keeper, number)
    with end_of(keeper), end_of(agent):
        os.kill(agent, signal.SIGKILL)
    harness.kill()
    harness.communicate()
    assert living(marks) == []
    assert cgroups_of(agent) == []


@apart_from_sweeps
def test_the_next_agent_kills_what_a_killed_agent_left(
    containment: str, marks: Path, tmp_path: Path
) -> None:
    harness, agent = start_adversary(containment, marks, tmp_path)
    for keeper in keepers(agent):
        os.kill(keeper, signal.SIGKILL)
    with end_of(agent):
        os.kill(agent, signal.SIGKILL)
        harness.kill()
    harness.communicate()
    LocalHost(containment).close()
    eventually(lambda: living(marks) == [])


@apart_from_sweeps
def test_a_sweep_treats_a_zombie_agent_as_dead(
    containment: str, marks: Path, tmp_path: Path
) -> None:
    command = [sys.executable, str(AGENT_PATH), "--containment", containment]
    spec = {"command": adversary(marks).command}
    request = {"id": 1, "do": "start", "spec": spec, "log_path": log(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        agent.stdin.write(json.dumps(request).encode() + b"\n")
        agent.stdin.flush()
        wait_for_marks(marks)
        for keeper in keepers(agent.pid):
            os.kill(keeper, signal.SIGKILL)
        with end_of(agent.pid):
            agent.kill()
        LocalHost(containment).close()
        eventually(lambda: living(marks) == [])


def test_a_sweep_keeps_the_trees_of_a_living_agent(
    host: LocalHost, containment: str, tmp_path: Path
) -> None:
    process = host.start(ProcessSpec(["sleep", "600"]), log(tmp_path))
    LocalHost(containment).close()
    assert host.alive(process) is None


def cgroups_of(agent: int) -> list[Path]:
    return [path for folder in cgroup_candidates() for path in folder.glob(f"deadheat-*-{agent}-*")]


def test_a_sweep_goes_on_if_a_cgroup_vanishes(tmp_path: Path) -> None:
    """Bug: another agent ended between the list of cgroups and the look at its own, so this one
    said that the host has no cgroups."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    gone = tmp_path / f"deadheat-{space}-1-1"
    gone.symlink_to(tmp_path / "nowhere")  # it is listed, but not there
    sweep(tmp_path)
    assert gone.is_symlink()
