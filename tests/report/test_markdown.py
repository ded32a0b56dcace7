"""The report as Markdown."""

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.formats.markdown import code, escape, write
from deadheat.report.model.load import load_view
from tests.report.made import MadeRun, failed


def written(run: MadeRun) -> str:
    view = load_view(run.store, run.run_id)
    return write(view, analyze(view))


def test_every_row_of_a_table_has_as_many_cells(run: MadeRun) -> None:
    run.race({"a|b": 9000, "c\nd": 3000, "e`f": 2000})
    run.contender("gone", fault="a | b\nc", version="1|2")
    tables = written(run).split("\n\n")
    for table in tables:
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("[a](b)", "\\[a\\](b)"),
        ("*a*_b_", "\\*a\\*\\_b\\_"),
        ("a|b", "a\\|b"),
        ("`a`", "\\`a\\`"),
    ],
)
def test_escapes_hostile_names(run: MadeRun, name: str, kept: str) -> None:
    run.race({name: 9000, "beta": 9000})
    run.trial(name, 1.0, gates=failed())
    text = written(run)
    assert kept in text
    assert name not in text.replace(kept, "")


def test_code_spans_can_contain_backticks() -> None:
    assert code("a") == "`a`"
    assert code("a``b") == "``` a``b ```"


def test_escape_keeps_ordinary_names() -> None:
    assert escape("go-net-http 1.26.4 (amd64)") == "go-net-http 1.26.4 (amd64)"
