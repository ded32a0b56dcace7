"""The agent at the other end of a real connection of ssh, and what happens when that ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.support import eventually
from tests.hosts.bed import LOST_SOON, PORT, Bed, sshd

CONNECT = f"{LOST_SOON}\nfrom deadheat.host.ssh import SshHost\nimport sys\n"
SAY_ERROR = """
from deadheat.errors import DeadheatError
for target in sys.argv[1:]:
    try:
        SshHost(target).close()
    except DeadheatError as error:
        print(str(error).replace('\\n', ' '), '|', error.hint)
"""
HARNESS = """
from deadheat.host import ProcessSpec
host = SshHost(sys.argv[1])
folder = host.scratch_folder()
tree = "sleep 600 & (setsid sleep 600 &) ; wait"
host.start(ProcessSpec(["sh", "-c", tree]), f"{folder}/log")
print(folder, flush=True)
sys.stdin.read()
try:
    host.free_port()
except Exception as error:
    print(error)
"""


def errors_of(bed: Bed, *targets: str) -> list[str]:
    """What connecting to each target says, in one line."""
    done = bed.python(CONNECT + SAY_ERROR, *targets)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def ssh_options(bed: Bed) -> Iterator[Bed]:
    yield bed
    bed.configure_ssh({})


def test_runs_a_command_on_the_other_host(bed: Bed) -> None:
    code = """
from deadheat.host import ProcessSpec
with SshHost(sys.argv[1]) as host:
    print(host.run(ProcessSpec(["ip", "-brief", "address", "show", "cable"]), 20).stdout)
    print(host.resolve("192.168.10.11"), host.peer_address())
    print(host.fingerprint().link.agent_round_trip_us > 0)
"""
    done = bed.python(CONNECT + code, bed.target)
    assert "192.168.10.10/24" in done.stdout, done.stderr
    assert "192.168.10.11 192.168.10.11\nTrue" in done.stdout
    eventually(lambda: bed.left() == [], within_s=30)


def test_sends_folders_and_files(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "source" / "node_modules").mkdir(parents=True)
    (tmp_path / "source" / "a.txt").write_text("one\n")
    (tmp_path / "source" / "link").symlink_to("a.txt")
    large = os.urandom(300_000)
    (tmp_path / "source" / "large").write_bytes(large)
    code = """
from pathlib import Path, PurePosixPath
with SshHost(sys.argv[1]) as host:
    folder = host.cache_folder() / "test"
    with host.locked(folder / "lock"):
        host.send_folder(Path(sys.argv[2]), folder / "copy", ("node_modules",))
    host.write_file(folder / "note.json", "{}")
    print(folder, host.read_file(folder / "note.json"), host.read_file(folder / "none"))
"""
    done = bed.python(CONNECT + code, bed.target, str(tmp_path / "source"))
    folder, note, none = done.stdout.split()
    assert (note, none) == ("{}", "None")
    copy = Path(folder) / "copy"
    assert sorted(path.name for path in copy.iterdir()) == ["a.txt", "large", "link"]
    assert (copy / "large").read_bytes() == large
    assert (copy / "link").readlink() == Path("a.txt")


def test_a_full_disk_is_named(bed: Bed, tmp_path: Path) -> None:
    code = """
from pathlib import PurePosixPath
from deadheat.errors import DeadheatError
with SshHost(sys.argv[1]) as host:
    path = PurePosixPath(sys.argv[2]) / "large"
    try:
        host.send_file(path, bytes(1_000_000))
    except DeadheatError as error:
        print(error, error.hint)
"""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "full", str(tmp_path)])
    if mounted.returncode != 0:
        pytest.skip("this machine mounts no tmpfs")
    try:
        answer = bed.python(CONNECT + code, bed.target, str(tmp_path)).stdout
        assert "large.part: No space left on device" in answer
        assert "free space there" in answer
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def harness(bed: Bed) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        bed.on_load_host(sys.executable, "-c", CONNECT + HARNESS, bed.target),
        env=bed.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()
    assert len(bed.left()) >= 3
    return process, folder


def test_a_killed_client_leaves_nothing_behind(bed: Bed) -> None:
    process, folder = harness(bed)
    process.kill()
    process.communicate()
    eventually(lambda: bed.left() == [] and not folder.exists(), within_s=10)


def test_a_cut_link_leaves_nothing_behind(bed: Bed) -> None:
    process, folder = harness(bed)
    bed.cut()
    try:
        eventually(lambda: bed.left() == [] and not folder.exists(), within_s=25)
        answer, _ = process.communicate("", timeout=40)
    finally:
        bed.mend()
    assert "the connection was lost" in answer


def test_a_stopped_client_counts_as_silent(bed: Bed) -> None:
    """A suspended client sends no heartbeat, and its connection stays open."""
    process, _ = harness(bed)
    os.kill(process.pid, signal.SIGSTOP)
    eventually(lambda: bed.left() == [], within_s=25)
    process.kill()
    process.communicate()


def test_an_unknown_host_key_is_refused_by_a_lax_configuration_too(ssh_options: Bed) -> None:
    ssh_options.configure_ssh({"UserKnownHostsFile": "/dev/null", "StrictHostKeyChecking": "no"})
    (answer,) = errors_of(ssh_options, ssh_options.target)
    assert "cannot connect: ssh does not know its host key" in answer
    assert f"ssh {ssh_options.target}" in answer


def test_a_changed_host_key_and_a_wrong_key_are_refused(ssh_options: Bed) -> None:
    other = " ".join((ssh_options.folder / "other_key.pub").read_text().split()[:2])
    hosts = ssh_options.folder / "other_hosts"
    hosts.write_text(f"[192.168.10.10]:2222 {other}\n")
    ssh_options.configure_ssh({"UserKnownHostsFile": str(hosts)})
    assert "is not the one that ssh knows" in errors_of(ssh_options, ssh_options.target)[0]
    ssh_options.configure_ssh({"IdentityFile": str(ssh_options.folder / "other_key")})
    assert "it refused every key that ssh offered" in errors_of(ssh_options, ssh_options.target)[0]


def test_a_host_that_does_not_answer_is_named(bed: Bed) -> None:
    causes = {
        "root@no-such-host.invalid": "no such host",
        "root@192.168.10.11": "no ssh server answers there",
        "-oProxyCommand=true": "expected [user@]host",
    }
    for target, answer in zip(causes, errors_of(bed, *causes), strict=True):
        assert target in answer
        assert causes[target] in answer


OLD_PYTHON = """#!/bin/sh
exec {python} -c "
import sys
sys.version_info = (3, 6, 8)
code = sys.argv[1]
exec(code)" "$4"
"""


def test_a_host_without_python_or_with_an_old_one_is_refused(
    ssh_options: Bed, tmp_path: Path
) -> None:
    """Sessions of sshd find the programs that its SetEnv PATH shows."""
    shell = tmp_path / "python3"
    with sshd(ssh_options, {"PATH": str(tmp_path)}, port=PORT + 1):
        ssh_options.configure_ssh({"Port": str(PORT + 1)})
        assert "it has no python3" in errors_of(ssh_options, ssh_options.target)[0]
        shell.write_text(OLD_PYTHON.format(python=sys.executable))
        shell.chmod(0o755)
        (answer,) = errors_of(ssh_options, ssh_options.target)
    assert "python3 is version 3.6: expected 3.8 or later" in answer
    assert "install a newer Python" in answer
