"""A gallery as files in headless Chromium; the checks themselves are in web/test/gallery.js."""

import json
import os
import subprocess
from pathlib import Path

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


def _small(of: MadeRun) -> MadeRun:
    run = MadeRun(of.store)
    run.race({"alpha": 9000.0, "reference-like": 6000.0}, blocks=4)
    run.end()
    return run


def test_the_gallery(tmp_path: Path) -> None:
    """All checks in one browser and one test: no other worker of pytest may start them again."""
    browser, node = chromium_and_node()
    hostile = hostile_run(tmp_path / "runs.sqlite")
    runs = [hostile, *(_small(hostile) for _ in range(2))]
    gallery = Gallery(tmp_path / "gallery")
    write_gallery(gallery, ((hostile.store, run.run_id) for run in runs))
    shots = os.environ.get("SCREENSHOTS") or str(tmp_path)
    done = subprocess.run(
        [node, WEB / "test" / "gallery.js", browser, gallery.folder, shots],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str | None] = json.loads(done.stdout)
    assert tuple(outcomes) == CHECKS
    failed = [error for error in outcomes.values() if error is not None]
    assert not failed, "\n".join(failed)
