"""An agent that answers nothing, or that is none: no request waits for it forever."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deadheat.host import HostError, agent_host, ssh
from deadheat.host.agent.kernel import start_ticks
from deadheat.host.agent_host import AgentHost
from deadheat.host.local import LocalHost
from deadheat.host.replies import BANNER_BYTES_MAX, BadReply, Reply, lines_of, parse, replies
from deadheat.host.ssh import SshHost
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


GREETING = b'{"id": 0, "ok": {"containment": "subreaper"}}\n'


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"{", b"{ Welcome to host }", b"[1]", b"null", b"[" * 100_000, b"\xff", b"{}"),
        *(b'{"id": 1}', b'{"id": "1", "ok": 1}', b'{"id": true, "ok": 1}', b'{"id": 1.0, "ok": 1}'),
        *(b'{"id": 1, "ok": 1, "error": {"message": "x"}}', b'{"id": 1, "error": "x"}'),
        *(b'{"id": 1, "error": {}}', b'{"id": 1, "error": {"message": "x", "hint": 1}}'),
        b'{"id": ' + b"9" * 5000 + b', "ok": 1}',
    ],
)
def test_rejects_a_line_that_no_agent_writes(line: bytes) -> None:
    with pytest.raises(BadReply):
        parse(line)


def test_keeps_a_banner_before_the_greeting() -> None:
    banner: list[str] = []
    lines = [b"Hello\n", b"{ Welcome to host }\n", b'{"id": 7, "ok": 1}\n', GREETING]
    assert [*replies(lines, banner)] == [Reply(0, ok={"containment": "subreaper"})]
    assert banner[:2] == ["Hello\n", "{ Welcome to host }\n"]


def test_rejects_a_banner_and_a_line_without_an_end() -> None:
    with pytest.raises(BadReply):
        [*replies([b"x" * 1000] * (1 + BANNER_BYTES_MAX // 1000), [])]
    with pytest.raises(BadReply, match="a line of more than 10 bytes"):
        [*lines_of(io.BytesIO(b"x" * 11), 10)]


def test_bug_a_login_banner_like_json_was_a_traceback_and_long_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\necho '{ Welcome to host }'\nsleep 600\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(SshHost, "greeting_s", 1.0)
    monkeypatch.setattr(agent_host, "READER_S", 0.2)
    with pytest.raises(HostError, match="lab@far: its agent did not begin within 1 s") as raised:
        SshHost("lab@far")
    assert raised.value.hint == "its last output: { Welcome to host }"
    assert ssh.GREETING_S < agent_host.SILENT_S


@pytest.mark.parametrize("line", ["{ job done }", '{\\"id\\": 99, \\"ok\\": 1}', '{\\"id\\": 1}'])
def test_a_wrong_line_fails_every_wait_at_once(line: str) -> None:
    greeting = GREETING.decode().strip().replace('"', '\\"')
    code = f'echo "{greeting}"; read request; echo "{line}"; exec sleep 600'
    begun_s = time.monotonic()
    with AgentHost(["sh", "-c", code]) as host:
        with pytest.raises(HostError, match="this machine: its agent sent "):
            host.free_port()
        with pytest.raises(HostError, match="this machine: its agent sent "):
            host.free_port()
    assert time.monotonic() - begun_s < agent_host.SILENT_S


def test_a_greeting_without_a_containment_is_an_error() -> None:
    with pytest.raises(HostError, match="does not say how it contains processes"):
        AgentHost(["sh", "-c", 'echo \'{"id": 0, "ok": 7}\'; sleep 600'])
