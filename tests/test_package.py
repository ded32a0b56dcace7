import os
import tomllib
from pathlib import Path

from deadheat import __version__

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "deadheat.data" / "scripts"


def test_the_command_that_the_wheel_installs_is_executable() -> None:
    """pip keeps the mode that a wheel has: without it the command is there and does not run."""
    assert [script.name for script in SCRIPTS.iterdir() if os.access(script, os.X_OK)] == [
        "deadheat"
    ]


def test_all_packages_have_the_same_version() -> None:
    manifests = (ROOT / "pyproject.toml", ROOT / "engine" / "Cargo.toml")
    project, crate = (tomllib.loads(path.read_text()) for path in manifests)
    assert project["project"]["version"] == crate["package"]["version"] == __version__
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()
