"""The figures in the documents are what the stored runs give; `make figures` regenerates them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.figures import (
    BLOCK,
    DOCUMENTS,
    PAGES,
    ROOT,
    FigureError,
    document_of,
    page_of,
    regenerate,
    stored_runs,
)


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with stored_runs() as variables:
        yield variables


@pytest.mark.parametrize("path", [*PAGES, *DOCUMENTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_figures_are_those_of_the_stored_runs(path: Path, environment: dict[str, str]) -> None:
    regenerated = regenerate(path, environment)
    assert path.read_text() == regenerated, "the figures drifted: run `make figures`"


@pytest.mark.parametrize("name", ["README.md", "evidence.md"])
def test_page_has_figures(name: str) -> None:
    (page,) = (path for path in PAGES if path.name == name)
    assert BLOCK.search(page.read_text())


def test_every_bundle_is_quoted_by_a_document() -> None:
    texts = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
    bundles = {path.name for path in (ROOT / "docs" / "results").glob("*.deadheat")}
    assert {name for name in bundles if not any(name in text for text in texts)} == set()


def test_the_engine_s_costs_are_those_of_the_stored_bench() -> None:
    bench = json.loads((ROOT / "docs" / "results" / "engine.json").read_text())
    costs = [
        check["ratio"]
        for scene in bench["scenes"]
        for check in scene["checks"]
        if check["contender"] == "wrk" and "slices" not in scene["scene"]
    ]
    summary = f"uses {min(costs):.2f} to {max(costs):.2f} of wrk's CPU time"
    assert summary in (ROOT / "docs" / "engine.md").read_text()


def test_replaces_the_block_and_keeps_the_rest() -> None:
    page = "before\n<!-- figures: echo 2 -->\n```\n1\n```\n<!-- end -->\nafter\n"
    assert page_of(page, {"PATH": "/usr/bin:/bin"}) == page.replace("1", "2")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- figures: true -->\n<!-- end -->\n", "printed nothing"),
        ("<!-- figures: echo 1; exit 3 -->\n<!-- end -->\n", "exit code 3"),
        ("<!-- figures: echo 1 -->\n```\n1\n```\n", "has no `<!-- end -->`"),
    ],
)
def test_rejects_a_block_that_cannot_be_regenerated(page: str, message: str) -> None:
    with pytest.raises(FigureError, match=message):
        page_of(page, {"PATH": "/usr/bin:/bin"})


def test_rejects_a_document_without_its_command() -> None:
    with pytest.raises(FigureError, match="no `deadheat audit"):
        document_of("# An audit\n", {})
