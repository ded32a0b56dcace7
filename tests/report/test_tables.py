"""Tables: bars of text, and the layouts of the published pages."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.formats.shapes import Shape, shape
from deadheat.report.formats.tables import Column, axis, bar
from tests.report.made import SETTLE, MadeRun, made_run


@pytest.mark.parametrize(
    ("interval", "top", "text"),
    [
        ((0.7, 0.5, 0.9), 1.0, "█████├█─┤"),
        ((0.7, 0.69, 0.71), 1.0, "███████"),  # less than two characters: no whisker
        ((0.4, 0.0, math.inf), 1.0, "██▒▒░░░░░░"),  # unknown: it fades out
        ((0.9, 0.5, 1.4), 1.25, "████├─█──░"),  # beyond the end: no end sign
        ((math.nan, 0.0, math.inf), 1.0, ""),
    ],
)
def test_a_whisker_spans_the_interval(
    interval: tuple[float, float, float], top: float, text: str
) -> None:
    assert bar(*interval, 10, top) == text


@pytest.mark.parametrize("ratio", [0.0, 0.001, 1.0, 9.0])
def test_a_bar_stays_within_its_cells(ratio: float) -> None:
    for low, high in ((ratio, ratio), (ratio / 2, ratio * 2), (0.0, math.inf)):
        assert 1 <= len(bar(ratio, low, high, 12, 1.0)) <= 12


def test_the_axis_marks_the_fastest() -> None:
    assert axis(20, 1.0) == "0       50       100"
    assert axis(25, 1.25).endswith("100")
    assert axis(5, 1.0) == ""


def labeled(run: MadeRun, name: str, comparison: str, label: str, **values: Any) -> None:
    published = [{"protocol": comparison, "row": label, "setting": "default", "differs": []}]
    manifest = {"language": values.pop("language", "Go"), "published": published}
    run.contender(name, label=label, manifest=manifest, **values)


def shaped(run: MadeRun) -> Shape:
    view = run.view()
    layout = shape(view, analyze(view))
    assert layout is not None
    return layout


def column(columns: Sequence[Column], header: str) -> tuple[str, ...]:
    return next(column.cells for column in columns if column.header == header)


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "connections": [10, 100]})


def test_kzmake_has_languages_and_frameworks_in_one_table(run: MadeRun) -> None:
    labeled(run, "a", "kzmake-2018", "Python, flask", language="Python")
    labeled(run, "b", "kzmake-2018", "Golang, gin")
    labeled(run, "c", "kzmake-2018", "Python, gunicorn + meinheld", language="Python")
    run.race({"a": 1000, "b": 5000, "c": 9000}, levels=(10, 100))
    (table,) = shaped(run).tables.values()
    assert column(table, "language") == ("Python", "Python", "Go")
    assert column(table, "framework") == ("gunicorn + meinheld", "flask", "gin")
    assert column(table, "rank") == ("1", "3", "2")


def test_landshark_has_a_row_for_each_server_with_rate_and_time(run: MadeRun) -> None:
    labeled(run, "a", "landshark-2009", "Fapws")
    labeled(run, "b", "landshark-2009", "Tomcat 6")
    run.race({"a": 9000, "b": 3000}, levels=(10, 100))
    (table,) = shaped(run).tables.values()
    assert [item.header.replace("\n", " ") for item in table] == [
        *("server", "rank"),
        *("req/s at 10", "mean ms at 10", "req/s at 100", "mean ms at 100"),
    ]
    assert column(table, "server") == ("Fapws", "Tomcat 6")
