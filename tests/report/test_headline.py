"""Which contender is fastest, and how certain that is."""

import re
from pathlib import Path

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.headline import answer, trust
from deadheat.report.model.load import load_view
from tests.report.made import MadeRun, failed, made_run


def answer_and_trust(run: MadeRun) -> tuple[str, str]:
    view = load_view(run.store, run.run_id)
    analysis = analyze(view)
    return answer(view, analysis.main), trust(view, analysis, analysis.main)


def test_names_a_single_leader_with_its_lead(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000})
    run.end()
    first, second = answer_and_trust(run)
    assert re.fullmatch(r"alpha is fastest: \d+ % \(\d+ to \d+ %\) ahead of the next", first)
    assert second == (
        "1 of 1 pair is separated, jointly at 95 %. All 48 trials of servers passed every check"
    )


def test_names_all_leaders_of_a_dead_heat(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 9000, "gamma": 3000}, noise=0.05)
    text = answer_and_trust(run)[0]
    assert " are in a dead heat for the lead: " in text
    assert set(text.split()[:3]) == {"alpha", "and", "beta"}
    assert text.endswith("the data cannot separate them")


def test_says_that_a_dead_heat_is_shown_if_it_is(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 9000}, noise=0.002)
    assert answer_and_trust(run)[0].endswith(" are in a dead heat, within 3 % of each other")


def test_names_unranked_contenders_with_their_failed_checks(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000})
    run.contender("gamma")
    run.trial("gamma", 20_000.0, gates=failed("steal"))
    text = answer_and_trust(run)[1]
    assert "1 of 49 trials failed a check and does not count" in text
    assert "Not ranked: gamma (steal)" in text
    assert "The run is not complete (running)" in text


def test_a_failed_check_is_no_reason_for_a_contender_that_was_not_measured(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000})
    run.contender("gamma")
    run.trial("gamma", 20_000.0, gates=failed("steal"))
    run.contender("absent")
    assert "Not ranked: gamma (steal). Not measured: absent" in answer_and_trust(run)[1]


def test_gives_no_answer_without_measurements(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("alpha")
    assert answer_and_trust(run)[0] == "No rate: nothing was measured"
