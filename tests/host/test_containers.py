"""A tree that adopts a container: a process that its client did not fork."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.host import HostError, Limits
from deadheat.host.agent.cgroup import cgroup_name, owner_lives
from deadheat.host.agent.kernel import start_ticks
from deadheat.host.local import LocalHost
from tests.host.conftest import refusal
from tests.host.support import eventually, log, python

# The client starts a monitor, which starts the first process of the container: that of `podman run`
# starts conmon. With cgroups the container gets one below the client's own.
CLIENT = """
import os, pathlib, signal, sys, time
monitor = os.fork()
if monitor:
    os.waitpid(monitor, 0)
    time.sleep(0.1)  # the container is empty before its client ends
    sys.exit(143)
if os.fork():
    os.wait()
    os._exit(0)
own = next((l[3:].strip() for l in open("/proc/self/cgroup") if l.startswith("0::")), "")
root = next((l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)
if root and "deadheat-" in own and sys.argv[1] == "apart":
    inner = pathlib.Path(root + own, "container")
    inner.mkdir()
    (inner / "cgroup.procs").write_text("0")
print(os.getpid(), flush=True)
while True:
    sum(range(10_000))
"""


@pytest.fixture(params=["cgroup-v2", "subreaper"])
def host(request: pytest.FixtureRequest) -> Iterator[LocalHost]:
    """The ways in which deadheat contains the clients of container runtimes."""
    if (reason := refusal(request.param)) is not None:
        pytest.skip(reason)
    with LocalHost(request.param) as local:
        yield local


def start(host: LocalHost, folder: Path, place: str = "apart", **options: bool) -> tuple[str, int]:
    """The client's process, and the PID of the container's first process."""
    process = host.start(python(CLIENT, place, **options), log(folder))
    eventually(lambda: host.read_tail(log(folder), 100).endswith("\n"))
    return process, int(host.read_tail(log(folder), 100))


def test_the_tree_is_that_of_the_container(host: LocalHost, tmp_path: Path) -> None:
    process, pid = start(host, tmp_path)
    assert host.usage(process).processes == 3
    host.adopt(process, pid)
    assert host.members(process) == {(pid, start_ticks(pid))}
    assert host.usage(process).processes == 1


def test_limits_hold_for_the_container_and_not_for_its_client(tmp_path: Path) -> None:
    """The client of podman takes 30 MB, more than a small server."""
    (containment,) = [name for name in ("cgroup-v2", "subreaper") if refusal(name) is None][:1]
    with LocalHost(containment, Limits(memory_bytes=1 << 20)) as host:
        process, pid = start(host, tmp_path, limited=True, client=True)
        host.sleep(1.5)  # the agent checks limits each second, or more often
        assert host.alive(process) is None
        host.adopt(process, pid)
        eventually(lambda: host.alive(process) is not None)
        exited = host.stop(process, "SIGKILL", 0)
    assert exited.limit is not None
    assert exited.limit.startswith("memory_limit")


def test_its_cpu_time_is_that_of_the_container(host: LocalHost, tmp_path: Path) -> None:
    process, pid = start(host, tmp_path)
    host.adopt(process, pid)
    before_s = host.usage(process).cpu_s
    eventually(lambda: host.usage(process).cpu_s > before_s)
    host.freeze(process)
    frozen_s = host.usage(process).cpu_s
    host.sleep(0.2)
    assert host.usage(process).cpu_s - frozen_s < 0.05  # the kernel accounts with a short delay
    host.thaw(process)
    eventually(lambda: host.usage(process).cpu_s > frozen_s + 0.05)


def test_a_signal_reaches_the_container_and_its_end_is_that_of_the_client(
    host: LocalHost, tmp_path: Path
) -> None:
    process, pid = start(host, tmp_path)
    host.adopt(process, pid)
    exited = host.stop(process, "SIGTERM", 60)
    assert exited.exit_code == -15  # of the client: 143
    assert not exited.survivors
    assert start_ticks(pid) is None


def test_a_stop_of_a_frozen_container_leaves_nothing(host: LocalHost, tmp_path: Path) -> None:
    process, pid = start(host, tmp_path)
    host.adopt(process, pid)
    host.freeze(process)
    host.stop(process, "SIGKILL", 0)
    assert start_ticks(pid) is None


def test_a_dead_container_cannot_be_adopted(host: LocalHost, tmp_path: Path) -> None:
    process, pid = start(host, tmp_path)
    os.kill(pid, 9)
    eventually(lambda: host.alive(process) is not None)
    with pytest.raises(HostError, match=f"process {pid} of the container is dead"):
        host.adopt(process, pid)


@pytest.mark.parametrize("host", ["cgroup-v2"], indirect=True)
def test_a_container_that_shares_a_cgroup_is_rejected(host: LocalHost, tmp_path: Path) -> None:
    """To freeze it would freeze the others."""
    process, pid = start(host, tmp_path, "together")
    with pytest.raises(HostError, match="shares its cgroup with other processes"):
        host.adopt(process, pid)


def test_an_owner_is_its_pid_and_its_start() -> None:
    name = cgroup_name()
    assert owner_lives(name)
    assert not owner_lives(name.rpartition("-")[0] + "-1")
    assert owner_lives("of-another-program")
    assert owner_lives("deadheat-1-1-1")  # in another PID namespace: it cannot be known
