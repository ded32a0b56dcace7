"""The programs that a browser test needs besides Python."""

import os
import shutil
from pathlib import Path

import pytest

from deadheat.report.formats.page import PAGE

WEB = Path(__file__).parents[2] / "web"
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


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
