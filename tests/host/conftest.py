import functools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.host import HostError
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


@pytest.fixture
def host(containment: str) -> Iterator[LocalHost]:
    with LocalHost(containment) as local:
        yield local


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
