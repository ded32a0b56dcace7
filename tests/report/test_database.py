"""The CPU time of a workload's database, beside that of the server."""

import csv
import io
from pathlib import Path

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.precision import Limit, limit_of, limits
from deadheat.report.formats.csv_table import write
from deadheat.report.formats.json_document import build
from deadheat.report.formats.tables import ranking_columns
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from tests.report.made import made_run


def view_of(
    folder: Path, database_us: float | None, rate_per_s: float = 1000.0, cpus: int = 1
) -> RunView:
    """One contender that uses 600 us of CPU time for a request, and its database this much."""
    run = made_run(folder / "runs.sqlite", cpus=cpus)
    run.contender("a")
    result = {} if database_us is None else {"database_cpu_us_per_request": database_us}
    run.trial("a", rate_per_s, server_cpu_us_per_request=600.0, result=result)
    return load_view(run.store, run.run_id)


def headers(view: RunView) -> list[str]:
    analysis = analyze(view)
    columns = ranking_columns(view, analysis, analysis.main, [analysis.main.connections])
    return [column.header for column in columns]


def test_each_format_has_it_beside_the_servers(tmp_path: Path) -> None:
    view = view_of(tmp_path, 350.0)
    (row,) = csv.DictReader(io.StringIO(write(view, analyze(view))))
    assert row["server_cpu_us_per_request"] == "600.0"
    assert row["database_cpu_us_per_request"] == "350.0"
    (level,) = build(view, analyze(view), Source.stored(view)).contenders[0].levels
    assert level.database_cpu_us_per_request == 350.0
    assert level.trials[0].database_cpu_us_per_request == 350.0
    assert "DB CPU\nµs/req" in headers(view)


def test_a_run_without_a_database_has_no_column_of_it(tmp_path: Path) -> None:
    view = view_of(tmp_path, None)
    (row,) = csv.DictReader(io.StringIO(write(view, analyze(view))))
    assert row["database_cpu_us_per_request"] == ""
    assert "DB CPU\nµs/req" not in headers(view)


@pytest.mark.parametrize(
    ("database_us", "cpus", "limit", "text"),
    [
        (350.0, 1, Limit.CPU, "the server's 1 CPU: a (35 % by the database)"),
        (100.0, 1, Limit.WAITING, "no CPU: a (60 % used, 10 % by the database) left part of"),
        (350.0, 2, Limit.WAITING, "no CPU: a (30 % used, 18 % by the database) left part of"),
    ],
)
def test_its_time_fills_the_cpus_that_it_shares_with_the_server(
    tmp_path: Path, database_us: float, cpus: int, limit: Limit, text: str
) -> None:
    view = view_of(tmp_path, database_us, cpus=cpus)
    (contender,) = view.contenders
    (cell,) = contender.cells.values()
    assert limit_of(view, contender, cell) is limit
    (statement,) = limits(view, analyze(view).main)
    assert statement.text.startswith(text)
