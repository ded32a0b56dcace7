import functools
from collections.abc import Iterator

import pytest

from deadheat.host import HostError
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
