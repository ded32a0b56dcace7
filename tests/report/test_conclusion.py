"""What is concluded in words."""

import datetime
from pathlib import Path

from deadheat.host.machine import host_key
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.conclusion import conclusions
from deadheat.report.findings.precision import calibration
from deadheat.report.model.load import load_view
from tests.report.made import FINGERPRINT, QUICK, SETTLE, MadeRun, failed, made_run


def told(run: MadeRun) -> dict[str, str]:
    view = load_view(run.store, run.run_id)
    return {one.topic: one.text for one in conclusions(view, analyze(view))}


def test_separated_and_equivalent_pairs_are_told_apart(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 9005, "c": 3000, "d": 2000}, blocks=20, noise=0.005)
    found = told(run)
    assert found["separated"].startswith("c before d, by 5")
    assert "within 3 %" in found["equivalent"]
    assert {"a", "b"} <= set(found["equivalent"].replace(",", "").split())


def test_many_separated_pairs_are_counted_and_the_closest_named(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 6000, "c": 4000, "d": 3000, "e": 1000, "f": 500})
    found = told(run)["separated"]
    assert found.startswith("5 of 5 neighbouring pairs; the closest: c before d, by 3")


def test_an_undecided_pair_says_what_would_decide_it(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 8900}, blocks=4, noise=0.05)
    found = told(run)["undecided"]
    assert "apart; to decide it, about" in found
    assert "more block" in found
    assert ", some " in found


def test_levels_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "connections": [10, 100]})
    run.race({"a": 9000, "b": 3000}, levels=(100,))
    run.race({"a": 3000, "b": 9000}, levels=(10,))
    assert told(run)["at 10"].startswith("the other way round: b before a;")


def test_a_quick_run_says_that_it_has_no_interval(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    run.race({"a": 3000, "b": 9000}, invocations=1, blocks=3)
    run.end()
    found = told(run)
    assert "no interval and no rank" in found["no order"]
    assert found["no order"].endswith("The protocol settle gives intervals")
    assert "separated" not in found
    assert "method" not in found


def test_a_settle_run_too_short_for_a_second_start_asks_for_budget(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.race({"a": 3000, "b": 9000}, invocations=1, blocks=3)
    run.end()
    assert told(run)["no order"].endswith("A longer --budget gives intervals")


def test_without_a_valid_trial_nothing_is_concluded(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("a")
    run.trial("a", None, state="failed", reason="died")
    assert told(run) == {"no order": "no trial was valid, so nothing is ranked: see the doubts"}


def test_the_ceiling_the_resolution_and_the_calibration_are_quoted(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("null-server", role="control")
    run.race({"null-server": 90000, "a": 9000, "b": 3000})
    result = {
        "false_difference_rate": 0.045,
        "null_pairs": 200,
        "minimum_detectable_effect": 0.021,
        "slowdowns": [
            {"injected": 0.02, "measured": 0.03, "found": 4, "races": 4},
            {"injected": 0.03, "measured": 0.03, "found": 3, "races": 4},
            {"injected": 0.05, "measured": 0.05, "found": 4, "races": 4},
            {"injected": 0.10, "measured": 0.09, "found": 4, "races": 4},
        ],
    }
    run.store.add_calibration(host_key(FINGERPRINT), FINGERPRINT, result)
    found = told(run)
    assert "this client reached" in found["ceiling"]
    assert "a came to 10 % of that" in found["ceiling"]
    assert "four in five" in found["resolution"]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()[:7]
    assert found["calibration"].startswith(f"a machine of this kind, on {today}")
    assert "of 200 pairs of equal servers 4.5 % seemed to differ" in found["calibration"]
    assert "a slowdown by 5 % was found in 4 of 4 races" in found["calibration"]
    assert "2.1 % apart" in found["calibration"]
    assert found["method"].startswith("the interval holds at 95 % for a single look;")


def test_a_calibration_that_found_no_slowdown_or_failed_says_so() -> None:
    missed = {"injected": 0.1, "found": 3, "races": 4}
    text = calibration("2026-11-20", {"slowdowns": [missed]})
    assert "not even a slowdown by 10 % was found in every race" in text
    text = calibration(
        "2026-11-20", {"false_difference_rate": 0.2, "null_pairs": 220, "passed": False}
    )
    assert "more than chance explains" in text


def test_the_reference_is_no_ceiling_but_shows_what_the_machine_did(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("reference", role="control")
    for rate in (900.0, 1000.0, 1300.0):
        run.trial("reference", rate, gates=failed())
    found = told(run)
    assert "ceiling" not in found
    assert "reference -10.0 to +30.0 % around 1,000 requests/s" in found["machine"]


def test_intervals_say_for_how_many_looks_they_hold(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 3000})
    assert "this one was not declared" in told(run)["method"]
    run.store.end_run(run.run_id, "complete", {"why": "settled", "share": 0.4})
    assert "over all declared looks (this one spends 40 % of the error)" in told(run)["method"]
    fixed = MadeRun(run.store, protocol=QUICK)
    fixed.race({"a": 9000, "b": 3000})
    assert "look" not in told(fixed)["method"]


def test_heats_are_told_with_what_bridges_them(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("null-server", role="control")
    for heat, name in ((1, "a"), (2, "b")):
        run.race({"null-server": 90000, name: 9000}, heat=heat)
    found = told(run)["method"]
    assert "over 48 blocks in 3 fresh starts" in found
    assert "2 heats, because memory did not hold all at once" in found
