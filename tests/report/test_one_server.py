"""A run of one server: its rate with an interval, and no rank and no percentage in any format."""

import csv
import json
import re
from pathlib import Path

import pytest

from deadheat import report
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.headline import answer
from deadheat.report.findings.lone import lone_rate
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.points import points
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from tests.report.made import failed, made_run

RATES = (1000.0, 1010.0, 990.0, 1005.0)  # of one instance each


def one_server(folder: Path, rates: tuple[float, ...] = RATES, why: str = "settled") -> RunView:
    run = made_run(folder / "runs.sqlite")
    run.contender("mine")
    run.contender("null-server", role="control")
    for invocation, rate in enumerate(rates, start=1):
        run.trial("mine", rate, invocation=invocation)
        run.trial("null-server", 4000.0, invocation=invocation)
    return load_view(run.store, run.end(why=why), whole=True)


def test_the_answer_is_the_rate_with_its_interval(tmp_path: Path) -> None:
    view = one_server(tmp_path)
    text = answer(view, analyze(view).main)
    match = re.fullmatch(r"mine answers 1,00\d requests/s \((\d+) to (1,\d+)\)", text)
    assert match, text
    assert int(match[1]) < 1000 < int(match[2].replace(",", ""))


def test_an_interval_from_one_start_is_unknown(tmp_path: Path) -> None:
    view = one_server(tmp_path, RATES[:1], "budget spent")
    assert answer(view, analyze(view).main) == (
        "mine answers 1,000 requests/s; the interval is unknown"
    )


def test_the_points_have_rate_latency_cost_limit_and_the_null_server(tmp_path: Path) -> None:
    view = one_server(tmp_path)
    texts = {p.topic: p.text for p in points(view, analyze(view), Source.stored(view))}
    assert list(texts)[:4] == ["RATE", "LATENCY", "COST", "LIMIT"]
    assert texts["RATE"].startswith("known to ±")
    assert texts["RATE"].endswith("from 4 starts")
    assert "p99" in texts["LATENCY"]
    assert texts["COST"] == "41.5 µs of CPU time per request, 48 MiB at the peak"
    assert re.search(
        r"answers 4,000 requests/s here: (3\.9\d|4) times as many$", texts["NULL SERVER"]
    )
    assert "OPEN" not in texts


def test_a_rate_that_is_not_known_well_is_open(tmp_path: Path) -> None:
    view = one_server(tmp_path, (1000.0, 1300.0, 800.0, 1100.0), "budget spent")
    (open_point,) = [
        p for p in points(view, analyze(view), Source.stored(view)) if p.topic == "OPEN"
    ]
    assert open_point.text == "the rate is not known to 3 %"
    assert open_point.command.startswith("deadheat resume ")


def test_without_a_valid_trial_it_speaks_of_the_rate_and_of_no_rank(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("mine")
    run.trial("mine", 1000.0, gates=failed())
    view = load_view(run.store, run.end(why="budget spent"), whole=True)
    text = report.write(view, "terminal", verbose=True)
    assert text.startswith("No rate: the only trial failed the check ")
    assert "rank" not in text


@pytest.mark.parametrize("verbose", [False, True])
def test_no_format_shows_a_rank_or_a_share(tmp_path: Path, verbose: bool) -> None:
    view = one_server(tmp_path)
    for text in (report.write(view, "terminal", verbose=verbose), report.write(view, "md")):
        for word in ("rank ", "rank\n", "% of fastest", "% of leader", "No ranking", "dead heat"):
            assert word not in text, word
        assert "mine answers" in text
    level = json.loads(report.write(view, "json"))["levels"][0]
    assert level["answer"].startswith("mine answers")
    (standing,) = level["standings"]
    assert standing["rank_low"] is standing["ratio_to_leader"] is None
    (row, *_) = csv.DictReader(report.write(view, "csv").splitlines())
    assert row["ratio_to_leader"] == row["rank_low"] == ""


def test_without_a_valid_trial_there_is_no_rate(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"mine": 1000}, gates_of={"mine": failed()})
    view = load_view(run.store, run.end())
    level = analyze(view).main
    assert lone_rate(view, level) is None
    assert answer(view, level) == "No rate: none of 24 trials is valid, 24 failed the check steal"
