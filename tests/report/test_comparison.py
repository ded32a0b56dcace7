"""Comparisons of two runs and of two contenders, on made runs with known rates."""

import json
import random
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


def sliced(run: MadeRun, rates: dict[str, int], seed: int) -> RunView:
    """A race in slices, and controls of one start."""
    generator = random.Random(seed)
    for name in rates:
        run.contender(name)
    run.contender("reference", role="control")
    everyone = {**rates, "reference": 5000}
    starts = {(name, n): run.start(name, n) for name in everyone for n in (1, 2, 3)}
    at_s = 0.0
    for block in range(1, 13):
        for name, rate in everyone.items():
            invocation = 1 if name == "reference" else 1 + block % 3
            slices = []
            for round_ in range(1, 9):
                at_s += 0.1
                rate_per_s = rate * generator.lognormvariate(0, 0.01)
                slices.append(
                    {
                        "at_s": at_s,
                        "round": (block - 1) * 8 + round_,
                        "rate_per_s": rate_per_s,
                        "requests_ok": 1000,
                        "window_s": 1000 / rate_per_s,
                    }
                )
            run.trial(
                name,
                rate,
                invocation=invocation,
                instance_id=starts[name, invocation],
                block=block,
                at_s=at_s,
                series={"slices": slices},
            )
    run.end()
    return load_view(run.store, run.run_id, whole=True)


def test_compares_contenders_of_races_in_slices_beside_the_others(tmp_path: Path) -> None:
    protocol = {**SETTLE, "duration_s": 0.1, "slices": {"rounds": 8}}
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    before = sliced(run, {"alpha": 9000, "beta": 6000, "gamma": 3000}, seed=1)
    slower = {"alpha": 4500, "beta": 4500, "gamma": 1500}  # a slower machine, and a faster beta
    after = sliced(MadeRun(run.store, protocol=protocol), slower, seed=2)
    lines, data = two_runs(before, after)
    beside = data["levels"]["100"]["changes_beside_the_others"]
    assert set(beside) == {"alpha", "beta", "gamma"}
    assert beside["beta"]["low"] > 1
    assert beside["beta"]["ratio"] == pytest.approx(1.5, rel=0.02)
    assert beside["alpha"]["ratio"] == pytest.approx(1.5**-0.5, rel=0.02)
    assert any(line.endswith("ratio  beside the others [95 %]") for line in lines)
    (row,) = (line.split() for line in lines if line.startswith("  beta"))
    assert float(row[3]) == pytest.approx(0.75, rel=0.02)
    (control,) = (line for line in lines if line.startswith("  reference  "))
    assert control.endswith("a control")


def test_a_control_of_one_start_is_no_proof_that_the_machine_stayed(tmp_path: Path) -> None:
    protocol = {**SETTLE, "duration_s": 0.1, "slices": {"rounds": 8}}
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    before = sliced(run, {"alpha": 9000, "beta": 6000}, seed=1)
    after = sliced(MadeRun(run.store, protocol=protocol), {"alpha": 9000, "beta": 6000}, seed=2)
    lines, _ = two_runs(before, after)
    assert any("it had too few starts to say whether the machine changed" in line for line in lines)


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
            {**SETTLE, "workloads": []},
            {**SETTLE, "workloads": [route]},
            {**SETTLE, "workloads": [{**route, "requests": [{"path": "/b"}]}]},
        )
    ):
        run = made_run(tmp_path / f"{place}.sqlite", protocol=protocol)
        views.append(load_view(run.store, run.end()))
    plain, routed, changed = views
    assert differences(plain, plain) == ()
    assert [item.what for item in differences(plain, routed)] == ["workloads"]
    assert [item.what for item in differences(routed, changed)] == ["workload route"]
