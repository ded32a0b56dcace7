import json
import os
import tomllib
from pathlib import Path

from deadheat import __version__

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "deadheat.data" / "scripts"
LOCK = "uv.lock"


def test_the_command_that_the_wheel_installs_is_executable() -> None:
    """pip keeps the mode that a wheel has: without it the command is there and does not run."""
    assert [script.name for script in SCRIPTS.iterdir() if os.access(script, os.X_OK)] == [
        "deadheat"
    ]


def test_all_packages_have_the_same_version() -> None:
    manifests = (ROOT / "pyproject.toml", ROOT / "engine" / "Cargo.toml")
    project, crate = (tomllib.loads(path.read_text()) for path in manifests)
    assert project["project"]["version"] == crate["package"]["version"] == __version__
    assert json.loads((ROOT / "web" / "package.json").read_text())["version"] == __version__
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_bug_the_oldest_click_that_was_allowed_could_not_start_deadheat() -> None:
    """`click.ParamType` has a parameter since 8.4."""
    project, lock = (tomllib.loads((ROOT / name).read_text()) for name in ("pyproject.toml", LOCK))
    (ours,) = [each for each in lock["package"] if each["name"] == "deadheat"]
    locked = {each["name"]: each["specifier"] for each in ours["metadata"]["requires-dist"]}
    assert f"click{locked['click']}" in project["project"]["dependencies"]
    least = locked["click"].removeprefix(">=").split(".")
    assert tuple(map(int, least)) >= (8, 4)
