"""The page in headless Chromium; the checks themselves are in web/test/checks.js."""

import json
import lzma
import subprocess
from pathlib import Path

import pytest

from deadheat.report import load_view, write
from deadheat.report.model.runs import find_run
from deadheat.store import Store
from tests.browser.made_page import hostile_run
from tests.browser.programs import WEB, chromium_and_node

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "results" / "make-run.deadheat"
TIMEOUT_S = 600  # ends a check that hangs
CHECKS = (
    "answers_first",
    "sorts",
    "filters",
    "chooses_columns_and_level",
    "opens_panels",
    "works_by_keyboard",
    "sends_no_request",
    "passes_axe",
    "is_readable_in_light_and_dark",
    "fits_a_phone",
    "keeps_labels_apart",
    "shows_hostile_text_as_text",
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """The outcome of each check; all run in one browser."""
    browser, node = chromium_and_node()
    folder = tmp_path_factory.mktemp("page")
    store = folder / "stored.sqlite"
    store.write_bytes(lzma.decompress(STORED.read_bytes()))
    made = folder / "made.sqlite"
    hostile_run(made)
    done = subprocess.run(
        [node, WEB / "test" / "run.js", browser, _page(store), _page(made), folder],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str | None] = json.loads(done.stdout)
    return outcomes


def _page(path: Path) -> Path:
    with Store(path) as store:
        view = load_view(store, find_run(store, None), whole=True)
    page = path.with_suffix(".html")
    page.write_text(write(view, "html"), encoding="utf-8")
    return page


def test_no_check_is_left_out(outcomes: dict[str, str | None]) -> None:
    assert tuple(outcomes) == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_the_page(outcomes: dict[str, str | None], check: str) -> None:
    assert outcomes[check] is None, outcomes[check]
