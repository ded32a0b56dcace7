"""The lines of `deadheat verify`, and docs/servers.md with its folder, made from stored results."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.catalog import Catalog, load_catalog, selection
from deadheat.catalog.manifest import HTTP2
from deadheat.measure.inspection import Inspection
from deadheat.report.formats.inspections import line, server_pages, summary
from deadheat.store.json_columns import Behavior

ROOT = Path(__file__).resolve().parents[2]
GIN = load_catalog(ROOT).servers["go-gin"]
BEHAVIOR = Behavior(
    framing="content-length", head_bytes=90, keep_alive=True, close_honored=True,
    http_1_0="closes", head="empty", pipelined=2, unknown_path=404, date=True, server_header=None,
)  # fmt: skip
GOOD = Inspection(
    "go-gin", "go-gin", "default", version="1.0", build_key="k", ready_s=0.1,
    idle_memory_bytes=2**20, behavior=BEHAVIOR, served={"10": 10, "1000": 1000}, stop="exit 0",
    source_key=selection(GIN).source_key,
)  # fmt: skip
SHORT = Inspection("go-gin:published", "go-gin", "published",
                   cautions=("7 of 10 served",), behavior=BEHAVIOR, ready_s=0.1,
                   source_key=selection(GIN, "published").source_key)  # fmt: skip
BROKEN = Inspection("node-koa", "node-koa", "default", fault="a | b failed")
LACKING = Inspection("rust-iron", "rust-iron", "default", fault="no cargo", lacks=("get cargo",))
ALL = [GOOD, SHORT, BROKEN, LACKING]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


def test_a_line_starts_with_the_state() -> None:
    assert [line(inspection).split()[0] for inspection in ALL] == ["ok", "note", "FAIL", "lack"]
    assert "served 10, 1,000" in line(GOOD)
    assert "served 10, 900–1,000" in line(
        replace(GOOD, served={"10": 10, "1000": 900}, served_most={"1000": 1000})
    )
    assert line(LACKING).endswith("no cargo (get cargo)")


def test_the_summary_counts_every_state() -> None:
    noted, lacking = "note (works, with a shortfall)", "lack (a tool or registry is missing here)"
    assert summary(ALL) == f"1 ok, 1 {noted}, 1 FAIL, 1 {lacking}"


def test_each_language_has_a_page_with_its_contenders(catalog: Catalog) -> None:
    pages = server_pages(ALL, catalog, "servers")
    names = {"go", "node-js", "rust", "published"}
    assert set(pages) == {"servers.md", *(f"servers/{name}.md" for name in names)}
    assert re.findall(r"^\| (go-\S+) \|", pages["servers/go.md"], re.MULTILINE)[:2] == [
        "go-gin",
        "go-gin:published",
    ]
    assert "a \\| b failed" in pages["servers/node-js.md"]


def test_a_row_of_an_earlier_folder_says_so(catalog: Catalog) -> None:
    """Regression: two thirds of the rows were of folders that had more workloads by then."""
    earlier = replace(GOOD, source_key="of an earlier folder")
    gone = Inspection("go-gin:gone", "go-gin", "gone", behavior=BEHAVIOR, ready_s=0.1)
    page = server_pages([earlier, gone], catalog, "servers")["servers/go.md"]
    note = "its folder changed after its verification"
    assert page.count(f"| verified, then changed | 10, 1,000 | {note} |") == 1
    assert page.count(note) == 2


@pytest.fixture(scope="module")
def stored() -> list[Inspection]:
    rows = json.loads((ROOT / "docs/results/servers.json").read_text("utf-8"))
    return [Inspection.from_json(row) for row in rows]


def test_servers_md_and_its_folder_are_generated_from_the_stored_outcome(
    stored: list[Inspection], catalog: Catalog
) -> None:
    docs = ROOT / "docs"
    paths = [docs / "servers.md", *(docs / "servers").iterdir()]
    pages = {str(path.relative_to(docs)): path.read_text("utf-8") for path in paths}
    assert pages == server_pages(stored, catalog, "servers"), (
        "run deadheat verify --all --freeze SERVER -o docs/results/servers.json "
        "--page docs/servers.md for each server that you changed"
    )


def test_every_contender_of_the_catalog_has_a_stored_outcome(
    stored: list[Inspection], catalog: Catalog
) -> None:
    selections = {
        selection(server, setting).name
        for server in catalog.servers.values()
        for setting in ("default", *server.manifest.settings, *server.manifest.transports)
    }
    assert selections == {inspection.name for inspection in stored}, "run `make verify-all`"


def test_manifests_declare_the_observed_behavior(
    stored: list[Inspection], catalog: Catalog
) -> None:
    declared, observed = {}, {}
    for inspection in stored:
        if inspection.behavior is not None and inspection.setting not in HTTP2:
            start = selection(catalog.servers[inspection.server], inspection.setting).start
            declared[inspection.name] = (start.keep_alive, start.connection_close == "closes")
            observed[inspection.name] = (
                inspection.behavior.keep_alive,
                inspection.behavior.close_honored,
            )
    assert declared == observed
