from collections.abc import Iterator

import pytest

from tests.hosts.bed import Bed, refusal, two_hosts


@pytest.fixture(scope="session")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    if (reason := refusal()) is not None:
        pytest.skip(reason)
    with two_hosts(tmp_path_factory.mktemp("bed")) as hosts:
        yield hosts
