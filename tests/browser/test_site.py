"""A gallery as files in headless Chromium; the checks themselves are in web/test/gallery.js."""

import json
import os
import subprocess

import pytest

from deadheat.serve.gallery import Gallery, write_gallery
from tests.browser.made_page import hostile_run
from tests.browser.programs import WEB, chromium_and_node
from tests.report.made import MadeRun

TIMEOUT_S = 600  # ends a check that hangs
CHECKS = (
    "leads_from_the_index_to_every_kind_of_page",
    "sends_no_request",
    "shows_hostile_text_as_text",
    "passes_axe",
    "fits_a_phone_and_paper",
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """The outcome of each check; all run in one browser."""
    browser, node = chromium_and_node()
    folder = tmp_path_factory.mktemp("site")
    hostile = hostile_run(folder / "runs.sqlite")
    runs = [hostile, *(_small(hostile) for _ in range(2))]
    gallery = Gallery(folder / "gallery")
    write_gallery(gallery, ((hostile.store, run.run_id) for run in runs))
    shots = os.environ.get("SCREENSHOTS") or str(folder)
    done = subprocess.run(
        [node, WEB / "test" / "gallery.js", browser, gallery.folder, shots],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str | None] = json.loads(done.stdout)
    return outcomes


def _small(of: MadeRun) -> MadeRun:
    run = MadeRun(of.store)
    run.race({"alpha": 9000.0, "reference-like": 6000.0}, blocks=4)
    run.end()
    return run


def test_no_check_is_left_out(outcomes: dict[str, str | None]) -> None:
    assert tuple(outcomes) == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_the_gallery(outcomes: dict[str, str | None], check: str) -> None:
    assert outcomes[check] is None, outcomes[check]
