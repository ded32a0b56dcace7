"""Reports of a run of several workloads."""

import importlib.util
import json
import math
from pathlib import Path

import pytest

from deadheat import report
from deadheat.errors import DeadheatError, StoreError
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.comparison import two_contenders, two_runs
from deadheat.report.findings.profile import Profile, profile
from deadheat.report.formats.regression import regressions, sentence, worst
from deadheat.report.model.view import RunView
from deadheat.report.picture import draw
from deadheat.stats.ranking.change import Outcome
from tests.report.made import SETTLE, MadeRun, made_run

WORKLOADS = [{"name": name} for name in ("hello", "route", "wait")]
PROTOCOL = {**SETTLE, "workloads": WORKLOADS}
RATES = {
    "hello": {"a": 5000.0, "b": 4000.0, "c": 3000.0, "d": 2000.0, "e": 1000.0},
    "route": {"a": 1000.0, "b": 2000.0, "c": 1500.0, "d": 1200.0},
    "wait": {"a": 900.0, "b": 800.0, "c": 700.0, "d": 600.0, "e": 500.0},
}
CPU_US = {"hello": 10.0, "route": 25.0, "wait": 12.0}


def raced(path: Path) -> MadeRun:
    """Five servers, of which `e` does not answer route, where `a` falls from first to last."""
    run = made_run(path, protocol=PROTOCOL)
    answered = {name: [w for w, rates in RATES.items() if name in rates] for name in RATES["hello"]}
    for name, workloads in answered.items():
        manifest = {"language": "Go", "framework": "net/http", "workloads": workloads}
        run.contender(name, manifest=manifest)
    for workload, rates in RATES.items():
        run.race(rates, workload=workload, server_cpu_us_per_request=CPU_US[workload])
    run.end()
    return run


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return raced(tmp_path_factory.mktemp("profile") / "runs.sqlite").view(whole=True)


def overview(view: RunView) -> Profile:
    made = profile(view)
    assert made is not None
    return made


def test_each_workload_has_a_view_of_its_own(view: RunView) -> None:
    views = {each.workload: each for each in view.by_workload}
    assert list(views) == ["hello", "route", "wait"]
    assert [contender.name for contender in views["route"].contenders] == ["a", "b", "c", "d"]
    orders = {
        name: [standing.name for standing in analyze(each).main.standings]
        for name, each in views.items()
    }
    assert orders["hello"] == ["a", "b", "c", "d", "e"]
    assert orders["route"] == ["b", "c", "d", "a"]
    assert view.trials == sum(each.trials for each in views.values())


def test_the_profile_has_a_share_of_the_best_on_each_workload(view: RunView) -> None:
    rows = {row.name: row for row in overview(view).rows}
    share = rows["a"].on("route")
    assert share is not None
    assert share.ratio == pytest.approx(0.5, rel=0.05)
    assert share.low is not None
    assert share.high is not None
    assert share.low < 0.5 < share.high
    assert rows["e"].on("route") is None


def test_the_prediction_names_what_moves_and_what_it_costs(view: RunView) -> None:
    route, wait = overview(view).predictions
    assert (route.by, route.workload, wait.workload) == ("hello", "route", "wait")
    assert route.tau_b == pytest.approx(0.0)
    assert route.servers == 4, "e is in one of the two"
    assert wait.tau_b == 1.0
    assert wait.low is not None
    assert 0 < wait.low < 1
    first = route.movers[0]
    assert (first.name, first.place_before, first.place) == ("a", 1, 4)
    assert first.places_apart
    assert first.cpu_us_more == pytest.approx(15.0)
    assert wait.movers == ()


def test_json_names_the_workload_of_each_level(view: RunView) -> None:
    document = json.loads(report.write(view, "json"))
    assert document["run"]["workloads"] == ["hello", "route", "wait"]
    assert [level["workload"] for level in document["levels"]] == ["hello", "route", "wait"]
    cells = {c["name"]: [cell["workload"] for cell in c["levels"]] for c in document["contenders"]}
    assert cells["e"] == ["hello", "wait"]
    (route, _) = document["profile"]["predictions"]
    assert (route["tau_b"], route["low"], route["servers"]) == (pytest.approx(0.0), None, 4)


def test_a_run_of_one_workload_has_no_profile(run: MadeRun) -> None:
    run.race(RATES["hello"])
    view = run.ended()
    assert profile(view) is None
    assert view.by_workload == (view,)
    with pytest.raises(DeadheatError, match="--picture profile: this needs several workloads"):
        draw(view, "profile")


def test_the_picture_of_one_workload_names_it(view: RunView) -> None:
    picture = draw(view.on("route"), "bars")
    assert "workload route" in picture
    assert "workloads" not in picture


def test_rejects_a_workload_that_was_not_measured(view: RunView) -> None:
    with pytest.raises(DeadheatError, match="did not measure it") as caught:
        view.on("db")
    assert str(caught.value).startswith("--workload db: run ")
    assert caught.value.hint == "it measured hello, route, wait"


def test_two_contenders_are_compared_on_each_workload(view: RunView) -> None:
    lines, data = two_contenders(view, "a", "e")
    assert "at route, 100 connections" not in lines
    assert "without the workload route: e" in lines
    assert list(data) == ["100", "wait, 100"]


def test_runs_are_compared_on_the_workloads_of_both(view: RunView, run: MadeRun) -> None:
    run.race(RATES["hello"])
    lines, data = two_runs(view, run.ended())
    assert list(data.levels) == ["100"]
    assert "not compared, because one run alone measured it: the workload wait" in lines
    agreement = data.levels["100"].agreement
    assert agreement is not None
    assert not math.isnan(agreement.tau_b)


def test_the_warm_up_of_a_view_is_that_on_its_workload(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=PROTOCOL)
    run.contender("a", manifest={"language": "Go", "workloads": ["hello", "route"]})
    later = {"route": {"kind": "none", "trouble": "it never became steady"}}
    run.start("a", steady={"kind": "flat", "trouble": None, "later": later})
    views = run.ended().by_workload
    warmed = [each.contenders[0].starts[0].steady for each in views[:2]]
    assert [each and each.kind for each in warmed] == ["flat", "none"]


def test_the_results_page_is_written_from_a_bundle(view: RunView) -> None:
    path = Path(__file__).parents[2] / "docs" / "workload_results.py"
    spec = importlib.util.spec_from_file_location("workload_results", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = script.page(view, "made.deadheat", "made.svg")
    assert "| route | 0.00 \\[unknown\\] | 4 | 3 | +15.0 |" in text
    assert "- **route**: a from place 1 to 4" in text
    assert "## wait" in text
    assert "no server changes its place" in text


def test_rejects_a_file_with_too_many_workloads(run: MadeRun) -> None:
    run.contender("a")
    for number in range(50):
        run.trial("a", 1.0, workload=f"w{number}")
    with pytest.raises(StoreError, match="expected at most 40 workloads"):
        run.ended()


def test_a_change_is_judged_on_each_workload(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=PROTOCOL)
    for workload, head in (("hello", 1000.0), ("route", 700.0), ("wait", 1000.0)):
        run.race({"base": 1000.0, "head": head}, workload=workload)
    view = run.ended()
    outcomes = [
        outcome
        for each in view.by_workload
        for outcome in regressions(each, analyze(each), "base", "head")
    ]
    assert worst(outcomes) is Outcome.FAIL
    failed = [sentence(outcome) for outcome in outcomes if outcome.outcome is Outcome.FAIL]
    assert len(failed) == 1
    assert failed[0].startswith("FAIL at route, 100 connections: the head is ")
