import os
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "deadheat.data" / "scripts"


def test_the_command_that_the_wheel_installs_is_executable() -> None:
    """pip keeps the mode that a wheel has: without it the command is there and does not run."""
    assert [script.name for script in SCRIPTS.iterdir() if os.access(script, os.X_OK)] == [
        "deadheat"
    ]
