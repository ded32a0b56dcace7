"""What is concluded in words."""

from pathlib import Path

from deadheat.host.machine import host_key
from deadheat.report.analysis import analyse
from deadheat.report.conclusion import conclusions
from deadheat.report.load import load_view
from tests.report.made import FINGERPRINT, QUICK, SETTLE, MadeRun, made_run


def told(run: MadeRun) -> dict[str, str]:
    view = load_view(run.store, run.run_id)
    return {one.topic: one.text for one in conclusions(view, analyse(view))}


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
    assert "separated" not in found
    assert "method" not in found


def test_without_a_valid_trial_nothing_is_concluded(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("a")
    run.trial("a", None, state="failed", reason="died")
    assert told(run) == {"no order": "no trial was valid, so nothing is ranked: see the doubts"}


def test_the_ceiling_the_resolution_and_the_calibration_are_quoted(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("null-server", role="canary")
    run.race({"null-server": 90000, "a": 9000, "b": 3000})
    result = {
        "false_difference_rate": 0.045,
        "null_pairs": 200,
        "minimum_detectable_effect": 0.021,
    }
    run.store.add_calibration(host_key(FINGERPRINT), FINGERPRINT, result)
    found = told(run)
    assert "requests/s of the null-server" in found["ceiling"]
    assert "four times in five" in found["resolution"]
    assert "4.5 % of 200 equal pairs" in found["calibration"]
    assert "from 2.1 %" in found["calibration"]
    assert found["method"].startswith("intervals hold at 95 % jointly over 1 pair;")
