"""The programs that a browser test needs besides Python."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from deadheat.report.formats.page import PAGE

WEB = Path(__file__).parents[2] / "web"
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 600  # ends a check that hangs


def chromium_and_node() -> tuple[str, str]:
    """Skips the test, with a hint, where one of them or the built page is missing."""
    given = os.environ.get("CHROMIUM")
    browser = given or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    node = shutil.which("node")
    if browser is None:
        pytest.skip("no Chromium: apt-get install chromium, or set CHROMIUM to one")
    if node is None:
        pytest.skip("no Node.js: apt-get install nodejs npm")
    if not (WEB / "node_modules" / "playwright-core").is_dir() or not PAGE.is_file():
        pytest.skip("the page is not built: make page")
    return browser, node


def run_checks(script: str, number: int, *words: object) -> None:
    """All checks of web/test/SCRIPT in one browser."""
    browser, node = chromium_and_node()
    done = subprocess.run(
        [node, str(WEB / "test" / script), browser, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    require_passed(done.stdout, number)


def require_passed(outcomes: str, number: int) -> None:
    """`outcomes` are a JSON object: null for each of so many checks, or its error."""
    errors: list[str | None] = [*json.loads(outcomes).values()]
    assert len(errors) == number
    failed = [error for error in errors if error is not None]
    assert not failed, "\n".join(failed)
