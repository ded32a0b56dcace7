"""The world of most races; a file that needs another one has its own."""

from pathlib import Path

import pytest

from tests.campaign.fake_world import FakeWorld


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, middle=2900, slow=1000)
