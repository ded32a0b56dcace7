"""A run in the layout of the published page whose rows it repeats."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deadheat.report import load_view, write
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.grouping import MULTI, SINGLE, THREADED
from deadheat.report.formats.shapes import Shape, shape
from deadheat.report.model.column import Column
from tests.report.made import SETTLE, MadeRun, made_run


def labeled(run: MadeRun, name: str, comparison: str, label: str, **values: Any) -> None:
    published = [{"protocol": comparison, "row": label, "setting": "default", "differs": []}]
    manifest = {"language": values.pop("language", "Go"), "published": published}
    run.contender(name, label=label, manifest=manifest, **values)


def shaped(run: MadeRun) -> Shape | None:
    view = load_view(run.store, run.run_id)
    return shape(view, analyze(view))


def column(columns: Sequence[Column], header: str) -> tuple[str, ...]:
    return next(column.cells for column in columns if column.header == header)


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "connections": [10, 100]})


def test_woo_has_a_table_of_one_core_and_one_of_several(run: MadeRun) -> None:
    labeled(run, "a", "woo-2016", "Go")
    labeled(run, "b", "woo-2016", "Go (GOMAXPROCS=4)", workers=4)
    labeled(run, "c", "woo-2016", THREADED)
    run.race({"a": 3000, "b": 9000, "c": 2000}, levels=(10, 100))
    layout = shaped(run)
    assert layout is not None
    assert layout.title == "In the layout of woo-2016"
    assert list(layout.tables) == [SINGLE, MULTI]
    assert column(layout.tables[SINGLE], "server") == ("Go",)
    assert column(layout.tables[MULTI], "server") == ("Go (GOMAXPROCS=4)", THREADED)
    headers = [item.header for item in layout.tables[MULTI]]
    assert headers == ["server", "rank", "req/s\nat 10", "req/s\nat 100"]


def test_kzmake_has_languages_and_frameworks_in_one_table(run: MadeRun) -> None:
    labeled(run, "a", "kzmake-2018", "Python, flask", language="Python")
    labeled(run, "b", "kzmake-2018", "Golang, gin")
    labeled(run, "c", "kzmake-2018", "Python, gunicorn + meinheld", language="Python")
    run.race({"a": 1000, "b": 5000, "c": 9000}, levels=(10, 100))
    layout = shaped(run)
    assert layout is not None
    (table,) = layout.tables.values()
    assert column(table, "language") == ("Python", "Python", "Go")
    assert column(table, "framework") == ("gunicorn + meinheld", "flask", "gin")
    assert column(table, "rank") == ("1", "3", "2")


def test_landshark_has_a_row_for_each_server_with_rate_and_time(run: MadeRun) -> None:
    labeled(run, "a", "landshark-2009", "Fapws")
    labeled(run, "b", "landshark-2009", "Tomcat 6")
    run.race({"a": 9000, "b": 3000}, levels=(10, 100))
    layout = shaped(run)
    assert layout is not None
    (table,) = layout.tables.values()
    assert [item.header.replace("\n", " ") for item in table] == [
        *("server", "rank"),
        *("req/s at 10", "mean ms at 10", "req/s at 100", "mean ms at 100"),
    ]
    assert column(table, "server") == ("Fapws", "Tomcat 6")


def test_groups_other_runs_by_language(run: MadeRun) -> None:
    run.contender("a", manifest={"language": "Go"})
    run.contender("b", manifest={"language": "Rust"})
    run.race({"a": 9000, "b": 3000}, levels=(10, 100))
    layout = shaped(run)
    assert layout is not None
    assert layout.title == "By language"


def test_no_extra_table_for_one_language(run: MadeRun) -> None:
    run.race({"a": 9000, "b": 3000}, levels=(10, 100))
    assert shaped(run) is None


def test_the_ranking_comes_first(run: MadeRun) -> None:
    labeled(run, "a", "woo-2016", "Go")
    labeled(run, "b", "woo-2016", "Racket")
    run.race({"a": 9000, "b": 3000}, levels=(10, 100))
    text = write(load_view(run.store, run.run_id), "md")
    ranking, page = text.index("| rank | server |"), text.index("## In the layout of woo-2016")
    assert ranking < page < text.index("## Conclusion")
    assert f"### {SINGLE}" in text
    assert f"### {MULTI}" not in text
