"""Published figures beside a server's own."""

from pathlib import Path

import pytest

from deadheat.report.model import published

TABLE = """row,connections,rate_per_s,precision,source
"Go, gin",100,200,1,page
"Go, echo",100,300,1,page
"Go, gin",10,90,1,page
"Go, echo",10,,1,page
"""


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made-2018.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr(published, "PLACES", (tmp_path / "absent", tmp_path))
    published._figures.cache_clear()


def test_each_level_has_its_own_rank() -> None:
    stored = {"protocol": "made-2018", "row": "Go, gin", "differs": ["newer"]}
    (row,) = published.published_rows({"published": [stored]})
    assert row.setting == "default"
    assert [(rate.connections, rate.rank, rate.rows) for rate in row.rates] == [
        (10, 1, 1),
        (100, 2, 2),
    ]


def test_leaves_out_a_row_without_published_figures() -> None:
    rows = [
        {"protocol": "made-2018", "row": "Go, chi"},
        {"protocol": "unknown-1999", "row": "Go, gin"},
    ]
    assert published.published_rows({"published": rows}) == ()
    assert published.published_rows({}) == ()
