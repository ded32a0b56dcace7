"""The CPU time of a workload's database beside that of the server, and the parts of the latter."""

import csv
import io
import math
from pathlib import Path

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.precision import Limit, limit_of, limits
from deadheat.report.formats.csv_table import write
from deadheat.report.formats.document import CellPart
from deadheat.report.formats.json_document import build
from deadheat.report.formats.tables import ranking_columns
from deadheat.report.model.view import RunView
from deadheat.store.json_columns import PerRequest
from tests.report.made import MadeRun, made_run


def view_of(folder: Path, database_us: float, cpus: int = 1) -> RunView:
    """One contender that uses 600 us of CPU time for a request, and its database this much."""
    run = made_run(folder / "runs.sqlite", cpus=cpus)
    run.contender("a")
    result = {"database_cpu_us_per_request": database_us}
    run.trial("a", 1000.0, server_cpu_us_per_request=600.0, result=result)
    return run.view()


def headers(view: RunView) -> list[str]:
    analysis = analyze(view)
    columns = ranking_columns(view, analysis, analysis.main, [analysis.main.connections])
    return [column.header for column in columns]


def shown(view: RunView) -> tuple[dict[str, str], CellPart]:
    """The only row of the CSV, and the only level of the JSON document."""
    (row,) = csv.DictReader(io.StringIO(write(view)))
    (level,) = build(view, view.run_id).contenders[0].levels
    return row, level


def test_each_format_has_it_beside_the_servers(tmp_path: Path) -> None:
    view = view_of(tmp_path, 350.0)
    row, level = shown(view)
    assert row["server_cpu_us_per_request"] == "600.0"
    assert row["database_cpu_us_per_request"] == "350.0"
    assert level.database_cpu_us_per_request == 350.0
    assert level.trials[0].database_cpu_us_per_request == 350.0
    assert "DB CPU\nµs/req" in headers(view)


def test_each_format_has_the_parts_of_a_request(run: MadeRun) -> None:
    """The medians of the parts are scaled, so that they add up to the one CPU column."""
    run.contender("a")
    for user_us, system_us in ((300.0, 300.0), (100.0, 500.0), (310.0, 290.0)):
        parts = {"user_us": user_us, "system_us": system_us, "packets_in": 1.5, "odd": 3}
        run.trial("a", 1000.0, server_cpu_us_per_request=600.0, result={"per_request": parts})
    view = run.view()
    assert {"user\nµs/req", "system\nµs/req", "packets\nin/req"} <= {*headers(view)}
    row, level = shown(view)
    assert float(row["user_us_per_request"]) + float(row["system_us_per_request"]) == 600.0
    assert row["packets_in_per_request"] == "1.5"
    assert row["voluntary_switches_per_request"] == "", "unknown, not 0"
    assert level.per_request is not None
    assert level.per_request.packets_in == 1.5
    assert level.trials[1].per_request == PerRequest(user_us=100, system_us=500, packets_in=1.5)


@pytest.mark.parametrize("stored", [None, [], "many", {"user_us": "much"}, {"user_us": math.inf}])
def test_a_run_without_these_shows_none(run: MadeRun, stored: object) -> None:
    run.contender("a")
    run.trial("a", 1000.0, result={} if stored is None else {"per_request": stored})
    view = run.view()
    columns = ("user", "packets", "DB CPU")
    assert not [header for header in headers(view) if header.startswith(columns)]
    row, _ = shown(view)
    assert row["user_us_per_request"] == row["bytes_in_per_request"] == ""
    assert row["database_cpu_us_per_request"] == ""


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
