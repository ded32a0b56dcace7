"""`pytest tests/golden --accept` writes what the outputs are now; git shows what changed."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="Write the golden files anew.")


@pytest.fixture(scope="session")
def accept(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--accept", default=False))
