"""Why a connection over ssh did not come about, with a fake of ssh; see also tests/hosts."""

import os
from pathlib import Path

import pytest

from deadheat.host import HostError
from deadheat.host.ssh import SshHost
from deadheat.load.engine import send_engine
from tests.host.fake_ssh import refusing_ssh, running_ssh
from tests.host.support import python

TARGET = "lab@far"


@pytest.mark.parametrize(
    ("said", "code", "cause", "hint"),
    [
        ("ssh: Could not resolve hostname far: Name or service not known", 255, "no such host", ""),
        ("connect to host far port 22: Connection refused", 255, "no ssh server answers", "sshd"),
        ("connect to host far port 22: Connection timed out", 255, "does not answer", "cable"),
        ("connect to host far port 22: No route to host", 255, "no route leads there", "cable"),
        ("lab@far: Permission denied (publickey).", 255, "it refused every key", "ssh-copy-id"),
        ("Host key verification failed.", 255, "does not know its host key", "ssh lab@far"),
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @ Host key verification failed.",
            255,
            "its host key is not the one that ssh knows",
            "ssh-keygen -R far",
        ),
        ("sh: 1: exec: python3: not found", 127, "it has no python3", "Python 3.8"),
        ("This account is closed.", 1, "cannot start the agent (exit code 1)", "account is closed"),
    ],
)
def test_names_the_cause_and_a_hint(
    said: str, code: int, cause: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = refusing_ssh(tmp_path, said, code)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(HostError) as raised:
        SshHost(TARGET)
    assert str(raised.value).startswith(f"{TARGET}: ")
    assert cause in str(raised.value)
    assert hint in (raised.value.hint or "")


def test_names_a_missing_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="cannot start the agent ssh: No such file"):
        SshHost(TARGET)


def test_names_a_full_disk_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{running_ssh(tmp_path)}:{os.environ['PATH']}")
    with SshHost(TARGET) as host:
        host.require_room(1)
        with pytest.raises(HostError, match=r"lab@far: .*deadheat has less than") as raised:
            host.require_room(1 << 60)
    assert "XDG_CACHE_HOME" in (raised.value.hint or "")
    assert [*(tmp_path / "far-home").iterdir()] == []


def test_a_command_does_not_inherit_the_archive_of_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{running_ssh(tmp_path)}:{os.environ['PATH']}")
    with SshHost(TARGET) as host:
        done = host.run(python("import os; print(os.listdir('/proc/self/fd'))"), 60)
    assert done.stdout == "['0', '1', '2', '3']\n", "the last one is of the listing"


def test_an_engine_of_another_version_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent comes with each connection; the engine is kept by the hash of its content."""
    monkeypatch.setenv("PATH", f"{running_ssh(tmp_path)}:{os.environ['PATH']}")
    older = tmp_path / "far-home/.cache/deadheat/engine/0123456789ab/deadheat-load"
    older.parent.mkdir(parents=True)
    older.write_text("#!/bin/sh\necho deadheat-load 0.0.1\n")
    older.chmod(0o755)
    with SshHost(TARGET) as host:
        binary, _ = send_engine(host).version_command()
        sent = Path(binary).stat()
        assert send_engine(host).version_command()[0] == binary
        assert Path(binary).stat().st_ino == sent.st_ino, "sent once"
    assert Path(binary) != older
    assert older.read_text().endswith("0.0.1\n")


def test_bug_a_connection_that_the_user_shares_noticed_a_lost_link_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a ControlMaster, ssh ignores the ServerAliveInterval of this connection."""
    kept = tmp_path / "words"
    programs = refusing_ssh(tmp_path, "Connection refused")
    ssh = programs / "ssh"
    ssh.write_text(ssh.read_text().replace("#!/bin/sh\n", f'#!/bin/sh\necho "$*" > {kept}\n'))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(HostError):
        SshHost(TARGET)
    assert "-o ControlPath=none" in kept.read_text()
