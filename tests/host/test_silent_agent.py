"""A stopped agent answers nothing: no request waits for it forever."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deadheat.host import HostError, agent_host
from deadheat.host.agent import start_ticks
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
from deadheat.host import ProcessSpec, agent_host
from deadheat.host.local import LocalHost
agent_host.SILENT_S = 2.0
agent_host.TICK_S = 0.5
with LocalHost() as host:
    print("asks", flush=True)
    wait = ProcessSpec([sys.executable, "-I", "-S", "-c", "import time; time.sleep(2)"])
    print(host.run(wait, timeout_s=2.5).exit_code, flush=True)
"""


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
    """Ctrl-Z for longer than the deadline, while a request is open."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asks\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(6)
        process.send_signal(signal.SIGCONT)
        assert process.stdout.read() == "0\n"
    assert process.returncode == 0
