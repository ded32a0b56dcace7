"""A stopped agent answers nothing: no request waits for it forever."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deadheat.host import HostError, agent_host
from deadheat.host.agent.kernel import start_ticks
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python

MARKING = """
import os, sys, time
with open(sys.argv[1], "w") as file:
    file.write(os.readlink("/proc/self"))
time.sleep(600)
"""
WAITING = """
import sys
from deadheat.host import agent_host
from deadheat.host.local import LocalHost
with LocalHost() as host:
    agent_host.SILENT_S, agent_host.TICK_S = 2.0, 0.2
    print(host._agent.pid, flush=True)
    sys.stdin.readline()
    print("asks", flush=True)
    print(host.free_port() > 0, flush=True)
"""


@pytest.mark.usefixtures("own_cgroups")
def test_a_stopped_agent_ends_with_its_processes(
    containment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    with LocalHost(containment) as host:
        process = host.start(python(MARKING, str(mark)), log(tmp_path))
        eventually(lambda: mark.exists() and mark.read_text() != "")
        monkeypatch.setattr(agent_host, "SILENT_S", 1.0)
        os.kill(host._agent.pid, signal.SIGSTOP)
        with pytest.raises(HostError, match="the agent did not answer within 1 s and was killed"):
            host.usage(process)
        with pytest.raises(HostError, match="the agent ended unexpectedly"):
            host.alive(process)
    pid = int(mark.read_text())
    eventually(lambda: start_ticks(pid) is None)


def test_a_pause_of_deadheat_does_not_make_its_agent_late() -> None:
    """Ctrl-Z for longer than the deadline, while a request is open; the answer comes after it."""
    command = [sys.executable, "-c", WAITING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        agent = int(process.stdout.readline())
        os.kill(agent, signal.SIGSTOP)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "asks\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        os.kill(agent, signal.SIGCONT)
        assert process.stdout.read() == "True\n"
    assert process.returncode == 0
