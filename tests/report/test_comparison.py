"""Comparisons of two runs and of two contenders, on made runs with known rates."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from deadheat.cli import cli
from deadheat.errors import DeadheatError
from deadheat.report.findings.comparison import two_contenders, two_runs
from deadheat.report.findings.environment import differences
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from tests.report.made import SETTLE, MadeRun, made_run

RATES = {"alpha": 9000, "beta": 6000, "gamma": 3000}


def raced(run: MadeRun, rates: dict[str, int]) -> RunView:
    run.race(rates, blocks=12)
    run.end()
    return load_view(run.store, run.run_id)


@pytest.fixture
def first(tmp_path: Path) -> MadeRun:
    return made_run(tmp_path / "runs.sqlite")


def test_finds_the_contender_whose_rate_changed(first: MadeRun) -> None:
    before = raced(first, RATES)
    after = raced(MadeRun(first.store), RATES | {"beta": 12000})
    lines, data = two_runs(before, after)
    changes = data["levels"]["100"]["changes"]
    assert changes["beta"]["low"] > 1
    assert changes["beta"]["ratio"] == pytest.approx(2, rel=0.1)
    for name in ("alpha", "gamma"):
        assert changes[name]["low"] < 1 < changes[name]["high"]
    assert any(line.strip().startswith("rank agreement  tau-b 0.333") for line in lines)
    assert lines[-1] == "no difference in the stored setup"


def test_lists_differences_in_setup(first: MadeRun) -> None:
    before = raced(first, RATES)
    other = MadeRun(first.store, protocol={**first.protocol, "duration_s": 9.0})
    after = raced(other, {"alpha": 9000, "delta": 100})
    values = {item.what: (item.first, item.second) for item in differences(before, after)}
    assert values["protocol duration_s"] == ("0.5", "9.0")
    assert values["beta"] == ("present", "absent")
    assert values["delta"] == ("absent", "present")


def test_compares_two_contenders_of_a_run(first: MadeRun) -> None:
    view = raced(first, RATES)
    lines, data = two_contenders(view, "gamma", "alpha")
    pair = data["levels"]["100"]
    assert (pair["faster"], pair["slower"], pair["verdict"]) == ("alpha", "gamma", "separated")
    assert any("alpha is faster: alpha / gamma 3" in line or "alpha / gamma 2.9" in line
               for line in lines)  # fmt: skip


def test_rejects_a_contender_that_is_not_in_the_run(first: MadeRun) -> None:
    view = raced(first, RATES)
    with pytest.raises(DeadheatError, match="no contender 'omega'"):
        two_contenders(view, "alpha", "omega")


def test_the_command_prints_valid_json(first: MadeRun) -> None:
    raced(first, RATES)
    raced(MadeRun(first.store), RATES)
    ids = [row["id"] for row in first.store.rows("SELECT id FROM run ORDER BY rowid")]
    store = ["--store", str(first.store.path), "--json"]
    runs = json.loads(CliRunner().invoke(cli, ["compare", *ids, *store]).output)
    assert set(runs) == {"levels", "differences"}
    pair = json.loads(
        CliRunner().invoke(cli, ["compare", "alpha", "beta", "--in", ids[0], *store]).output
    )
    assert pair["levels"]["100"]["verdict"] == "separated"


def test_names_the_workloads_and_definitions_that_differ(tmp_path: Path) -> None:
    route = {"name": "route", "requests": [{"path": "/a"}]}
    views = []
    for place, protocol in enumerate(
        (
            {**SETTLE, "workload": None},
            {**SETTLE, "workloads": []},
            {**SETTLE, "workloads": [route]},
            {**SETTLE, "workloads": [{**route, "requests": [{"path": "/b"}]}]},
        )
    ):
        run = made_run(tmp_path / f"{place}.sqlite", protocol=protocol)
        views.append(load_view(run.store, run.end()))
    old, new, routed, changed = views
    assert differences(old, new) == ()
    assert [item.what for item in differences(new, routed)] == ["workloads"]
    assert [item.what for item in differences(routed, changed)] == ["workload route"]
