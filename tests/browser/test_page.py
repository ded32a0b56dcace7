"""The page in headless Chromium; the checks themselves are in web/test/page."""

from dataclasses import replace
from pathlib import Path

from deadheat.audit.audit import with_defects
from deadheat.report import load_view, write
from deadheat.report.formats import page
from deadheat.report.model.runs import find_run
from deadheat.store import Store
from deadheat.store.bundle import open_bundle
from tests.browser.made_page import decided_run, hostile_run, many_servers_run
from tests.browser.programs import chromium_and_node, run_checks
from tests.report.test_analysis import with_wide_interval
from tests.report.test_profile import raced

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
STORED = {"real": "make-run", "replay": "kzmake-2018", "decay": "decay", "transports": "transports"}


def _stored_page(name: str, folder: Path) -> Path:
    """The page of a run of docs/results, whose bundle is first brought up to date."""
    html = folder / f"{name}.html"
    with open_bundle(RESULTS / f"{name}.deadheat") as store:
        view = with_defects(store, load_view(store, find_run(store, None), whole=True))
    html.write_text(write(view, "html"), encoding="utf-8")
    return html


def _page(path: Path) -> Path:
    with Store(path) as store:
        view = load_view(store, find_run(store, None), whole=True)
    html = path.with_suffix(".html")
    html.write_text(write(view, "html"), encoding="utf-8")
    return html


def test_the_page(tmp_path: Path) -> None:
    """All checks in one browser and one test: no other worker of pytest may start them again."""
    chromium_and_node()
    made = tmp_path / "made.sqlite"
    hostile_run(made)
    many = many_servers_run(tmp_path / "many.sqlite").store.path
    wide = decided_run(tmp_path / "wide.sqlite").store.path
    pages = {role: _stored_page(name, tmp_path) for role, name in STORED.items()}
    unknown = tmp_path / "unknown.html"
    view, analysis = with_wide_interval(tmp_path, 0.05, 16.0)
    view = replace(view)  # which keeps no analysis yet
    view.kept.once("analysis", lambda: analysis)
    unknown.write_text(page.write(view), encoding="utf-8")
    pages["several"] = _page(raced(tmp_path / "several.sqlite").store.path)
    pages |= {"made": _page(made), "many": _page(many), "wide": _page(wide), "unknown": unknown}
    files = [f"{role}={path}" for role, path in pages.items()]
    run_checks("run.js", 27, tmp_path, *files)
