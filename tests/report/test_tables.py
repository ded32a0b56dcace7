"""Tables: bars of text, and the layouts of the published pages."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deadheat.report import load_view
from deadheat.report.findings.analysis import analyze
from deadheat.report.formats.shapes import MULTI, SINGLE, THREADED, Shape, shape
from deadheat.report.formats.tables import Column, axis, bar
from tests.report.made import SETTLE, MadeRun, made_run


def test_a_whisker_spans_the_interval() -> None:
    assert bar(0.7, 0.5, 0.9, 10, 1.0) == "█████├█─┤"


def test_an_interval_of_less_than_two_characters_has_no_whisker() -> None:
    assert bar(0.7, 0.69, 0.71, 10, 1.0) == "███████"


def test_an_unknown_interval_fades_out() -> None:
    assert bar(0.4, 0.0, math.inf, 10, 1.0) == "██▒▒░░░░░░"


def test_an_interval_beyond_the_end_has_no_end_sign() -> None:
    assert bar(0.9, 0.5, 1.4, 10, 1.25) == "████├─█──░"


@pytest.mark.parametrize("ratio", [0.0, 0.001, 1.0, 9.0])
def test_a_bar_stays_within_its_cells(ratio: float) -> None:
    for low, high in ((ratio, ratio), (ratio / 2, ratio * 2), (0.0, math.inf)):
        assert 1 <= len(bar(ratio, low, high, 12, 1.0)) <= 12


def test_no_ratio_has_no_bar() -> None:
    assert bar(math.nan, 0.0, math.inf, 10, 1.0) == ""


def test_the_axis_marks_the_fastest() -> None:
    assert axis(20, 1.0) == "0       50       100"
    assert axis(25, 1.25).endswith("100")
    assert axis(5, 1.0) == ""


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
