"""The reader's first question, answered."""

from pathlib import Path

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.headline import answer, trust
from deadheat.report.model.load import load_view
from tests.report.made import MadeRun, failed, made_run


def told(run: MadeRun) -> tuple[str, str]:
    view = load_view(run.store, run.run_id)
    analysis = analyze(view)
    return answer(view, analysis.main), trust(view, analysis, analysis.main)


def test_one_leader_is_named_with_its_lead(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000})
    run.end()
    first, second = told(run)
    assert first.startswith("alpha is the fastest of 2, ")
    assert first.endswith("ahead of beta")
    assert second == (
        "1 of 1 pair is told apart, at 95 % for all of them together. "
        "All 48 trials passed every check"
    )


def test_leaders_that_cannot_be_told_apart_are_all_named(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 9000, "gamma": 3000}, noise=0.05)
    assert "one of" in told(run)[0]
    assert {"alpha", "beta"} <= set(told(run)[0].replace(":", "").split())


def test_what_is_left_out_is_said_with_the_checks_that_failed(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000})
    run.contender("gamma")
    run.trial("gamma", 20_000.0, gates=failed("client_cpu"))
    said = told(run)[1]
    assert "1 of 49 trials failed a check and does not count" in said
    assert "Not ranked: gamma (client_cpu)" in said
    assert "The run is not complete (running)" in said


def test_nothing_measured_is_no_answer(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("alpha")
    assert told(run)[0] == "No ranks at this level: no trial is valid"
