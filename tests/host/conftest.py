import functools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.host import HostError, ProcessSpec
from deadheat.host.agent.cgroup import cgroup_of, remove_cgroup
from deadheat.host.agent.containment import CONTAINMENTS
from deadheat.host.local import LocalHost


@functools.cache
def refusal(containment: str) -> str | None:
    """Why this machine cannot contain trees this way; None if it can."""
    try:
        LocalHost(containment).close()
    except HostError as error:
        return str(error)
    return None


@pytest.fixture(params=CONTAINMENTS)
def containment(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if (reason := refusal(name)) is not None:
        pytest.skip(reason)
    return name


class SharedHost(LocalHost):
    """One agent for the tests of a file; each test leaves no process to the next one."""

    def __init__(self, containment: str) -> None:
        super().__init__(containment)
        self._started: list[str] = []

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        self._started.append(super().start(spec, log_path))
        return self._started[-1]

    def converse(self, spec: ProcessSpec, log_path: str) -> str:
        self._started.append(super().converse(spec, log_path))
        return self._started[-1]

    def stop_all(self) -> None:
        for process in self._started:
            self.stop(process, "SIGKILL", 0)
        self._started.clear()


@pytest.fixture(scope="module")
def shared_hosts() -> Iterator[dict[str, SharedHost]]:
    hosts: dict[str, SharedHost] = {}
    yield hosts
    for host in hosts.values():
        host.close()


@pytest.fixture
def host(containment: str, shared_hosts: dict[str, SharedHost]) -> Iterator[LocalHost]:
    if containment not in shared_hosts:
        shared_hosts[containment] = SharedHost(containment)
    yield shared_hosts[containment]
    shared_hosts[containment].stop_all()


@pytest.fixture
def own_cgroups() -> Iterator[None]:
    """This process in new cgroups: an agent sweeps its cgroup and the parent of that.

    So the agent of another test does not kill what a killed agent has left here.
    """
    home = cgroup_of("self")
    if home is None or refusal("cgroup-v2") is not None:
        yield
        return
    outer = Path(home, f"test-{os.getpid()}")
    inner = outer / "inner"
    inner.mkdir(parents=True)
    (inner / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        Path(home, "cgroup.procs").write_text(str(os.getpid()))
        remove_cgroup(str(outer))
