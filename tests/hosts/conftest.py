from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.bed import Bed, refusal, two_hosts
from tests.hosts.greeting import write_catalog


@pytest.fixture(scope="session")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    if (reason := refusal()) is not None:
        pytest.skip(reason)
    with two_hosts(tmp_path_factory.mktemp("bed")) as hosts:
        yield hosts


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    write_catalog(folder)
    return folder
