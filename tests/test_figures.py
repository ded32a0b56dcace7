"""The figures in the documents are what the stored runs give; `make figures` regenerates them."""

import json
from pathlib import Path

import pytest

from docs.figures import (
    BLOCK,
    DOCUMENTS,
    OPENING,
    PAGES,
    ROOT,
    FigureError,
    document_of,
    environment_of,
    page_of,
    regenerate,
    server_documents,
    store_runs,
)
from tests.conftest import made_once

DRIFTED = "the figures drifted: run `make figures`"
BLOCKS = [  # each is a test, so that the workers share them
    pytest.param(block[0], id=f"{path.name}-{number}")
    for path in PAGES
    for number, block in enumerate(BLOCK.finditer(path.read_text()), 1)
]


@pytest.fixture(scope="module")
def environment(shared_folder: Path) -> dict[str, str]:
    home = shared_folder / "figures"
    with made_once(home) as is_first:
        if is_first:
            store_runs(home)
    return environment_of(home)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_what_its_command_prints(block: str, environment: dict[str, str]) -> None:
    assert block == page_of(block, environment), DRIFTED


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_that_of_the_stored_runs(path: Path, environment: dict[str, str]) -> None:
    assert path.read_text() == regenerate(path, environment), DRIFTED


def test_the_pages_of_the_servers_are_those_of_the_stored_verification() -> None:
    texts = server_documents()
    assert {path.name for path, text in texts.items() if text != path.read_text()} == set(), DRIFTED


def test_no_page_has_a_block_without_an_end() -> None:
    texts = [path.read_text() for path in PAGES]
    assert all(len(OPENING.findall(text)) == len(BLOCK.findall(text)) for text in texts)
    assert len(BLOCKS) > 10


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
