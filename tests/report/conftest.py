from pathlib import Path

import pytest

from tests.report.made import MadeRun, made_run


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    """A run without contenders in a store of its own."""
    return made_run(tmp_path / "runs.sqlite")
