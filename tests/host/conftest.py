from collections.abc import Iterator

import pytest

from deadheat.host import HostError
from deadheat.host.agent import CONTAINMENTS
from deadheat.host.local import LocalHost


@pytest.fixture(params=CONTAINMENTS)
def containment(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    try:
        LocalHost(name).close()
    except HostError as error:
        pytest.skip(str(error))
    return name


@pytest.fixture
def host(containment: str) -> Iterator[LocalHost]:
    with LocalHost(containment) as local:
        yield local
