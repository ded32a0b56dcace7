"""The page of all servers, and that docs/servers.md is what its stored outcome gives."""

import json
import re
from pathlib import Path

import pytest

from deadheat.campaign.inspection import Inspection
from deadheat.catalog import Catalog, load_catalog
from deadheat.report.inspections import line, servers_page, summary

ROOT = Path(__file__).resolve().parents[2]
CARD = {
    "framing": "content-length", "head_bytes": 90, "keep_alive": True, "close_honoured": True,
    "http_1_0": "closes", "head": "empty", "pipelined": 2, "unknown_path": 404, "date": True,
    "server_header": None,
}  # fmt: skip
GOOD = Inspection(
    "go-gin", "go-gin", "default", version="1.0", build_key="k", ready_s=0.1,
    idle_memory_bytes=2**20, card=CARD, served={"10": 10, "1000": 1000}, stop="exit 0",
)  # fmt: skip
SHORT = Inspection("go-gin:published", "go-gin", "published", doubts=("7 of 10 served",), card=CARD,
                   ready_s=0.1)  # fmt: skip
BROKEN = Inspection("node-koa", "node-koa", "default", fault="a | b failed")
LACKING = Inspection("rust-iron", "rust-iron", "default", fault="no cargo", lacks=("get cargo",))
ALL = [GOOD, SHORT, BROKEN, LACKING]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


def test_a_line_tells_the_state_first() -> None:
    assert [line(one).split()[0] for one in ALL] == ["ok", "note", "FAIL", "lack"]
    assert "served 10, 1,000" in line(GOOD)
    assert line(LACKING).endswith("no cargo (get cargo)")


def test_the_summary_counts_every_state() -> None:
    assert summary(ALL) == "1 works; 1 works, with a note; 1 fails; 1 missing here"


def test_the_page_has_a_row_for_each_contender_and_each_published_row(catalog: Catalog) -> None:
    page = servers_page(ALL, catalog)
    for one in ALL:
        assert re.search(rf"^\| {one.name} \|", page, re.MULTILINE)
    assert "a \\| b failed" in page
    published = re.findall(r"^\| (kzmake-2018|woo-2016|landshark-2009) \|", page, re.MULTILINE)
    assert len(set(published)) == 3
    assert len(published) >= 33 + 13 + 10


def test_servers_md_is_generated_from_the_stored_outcome(catalog: Catalog) -> None:
    rows = json.loads((ROOT / "docs/results/servers.json").read_text("utf-8"))
    page = (ROOT / "docs/servers.md").read_text("utf-8")
    assert page == servers_page([Inspection.from_json(row) for row in rows], catalog)


def test_every_server_of_the_catalog_stands_in_servers_md(catalog: Catalog) -> None:
    page = (ROOT / "docs/servers.md").read_text("utf-8")
    missing = [name for name in catalog.servers if f"| {name} |" not in page]
    assert missing == [], "run `make verify-all`"
