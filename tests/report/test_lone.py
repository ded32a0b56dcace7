"""A contender without another to compare it with has no rank: a lone survivor once got rank 1."""

import csv
import json
from pathlib import Path

from deadheat import report
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.conclusion import conclusions
from deadheat.report.findings.headline import answer
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from tests.report.made import failed, made_run


def survivor(folder: Path) -> RunView:
    """Two contenders, of which only one has a valid trial."""
    run = made_run(folder / "runs.sqlite")
    run.race({"alive": 1000, "dead": 900}, gates_of={"dead": failed()})
    return load_view(run.store, run.end(), whole=True)


def test_a_lone_survivor_has_no_rank(tmp_path: Path) -> None:
    view = survivor(tmp_path)
    level = analyze(view).main
    assert level.ranking is None
    assert {s.name: s.reason for s in level.standings} == {
        "alive": "no other contender has a rate to compare with",
        "dead": "none of its 24 trials is valid",
    }
    assert answer(view, level) == "No ranking: only alive has a rate that counts"


def test_no_format_shows_a_rank_of_a_lone_survivor(tmp_path: Path) -> None:
    view = survivor(tmp_path)
    standings = json.loads(report.write(view, "json"))["levels"][0]["standings"]
    assert [standing["rank_low"] for standing in standings] == [None, None]
    rows = csv.DictReader(report.write(view, "csv").splitlines())
    assert [row["rank_low"] for row in rows] == ["", ""]
    assert "| – | alive |" in report.write(view, "md")


def test_says_why_there_is_no_order(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race(dict.fromkeys("ab", 1000.0), gates_of={"b": failed()})
    view = load_view(run.store, run.end())
    topic, text = next((s.topic, s.text) for s in conclusions(view, analyze(view)))
    assert topic == "no order"
    assert "only a has a rate" in text


def test_a_lone_survivor_keeps_the_lower_bound_of_a_faster_one(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"fast": 2000, "slow": 1000}, gates_of={"fast": failed("client_cpu", 0.93)})
    view = load_view(run.store, run.end())
    texts = [s.text for s in conclusions(view, analyze(view)) if s.topic == "lower bound"]
    assert len(texts) == 1
    assert texts[0].startswith("fast is at least")
