"""Verdicts on a change, on made runs with known rates."""

import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from deadheat.report.findings.analysis import analyze
from deadheat.report.formats.regression import (
    Regression,
    comment,
    junit,
    regressions,
    sentence,
    worst,
)
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.change import Outcome
from deadheat.store import Gate
from tests.report.made import MadeRun, made_run


def raced(folder: Path, base: float, head: float, blocks: int = 12) -> RunView:
    run = made_run(folder / "runs.sqlite")
    run.race({"base-1": base, "head-2": head}, blocks=blocks)
    run.end()
    return load_view(run.store, run.run_id)


def regressions_in(view: RunView) -> list[Regression]:
    return regressions(view, analyze(view), "base-1", "head-2")


def test_a_slower_head_fails(tmp_path: Path) -> None:
    view = raced(tmp_path, 9000, 6000)
    (regression,) = regressions_in(view)
    assert regression.outcome is Outcome.FAIL
    assert regression.low < 6 / 9 < regression.high < 1
    assert "slower [" in sentence(regression)
    assert comment(view, [regression]).startswith("### deadheat: FAIL\n")
    suite = ElementTree.fromstring(junit(view, [regression]))
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == regression.why


def test_a_faster_head_passes(tmp_path: Path) -> None:
    view = raced(tmp_path, 6000, 9000)
    (regression,) = regressions_in(view)
    assert regression.outcome is Outcome.PASS
    assert 1 < regression.low < 9 / 6 < regression.high
    suite = ElementTree.fromstring(junit(view, [regression]))
    assert (suite.get("failures"), suite.get("skipped"), suite.get("tests")) == ("0", "0", "1")


def test_too_little_data_is_inconclusive(tmp_path: Path) -> None:
    view = raced(tmp_path, 9000, 9000, blocks=1)
    (regression,) = regressions_in(view)
    assert regression.outcome is Outcome.INCONCLUSIVE
    assert ElementTree.fromstring(junit(view, [regression])).get("skipped") == "1"
    assert regression.to_json()["minimum_detectable_effect"] is None
    assert "| – |" in comment(view, [regression])


def test_the_worst_level_decides(tmp_path: Path) -> None:
    (good,) = regressions_in(raced(tmp_path / "a", 6000, 9000))
    (bad,) = regressions_in(raced(tmp_path / "b", 9000, 6000))
    assert worst([good, bad]) is Outcome.FAIL
    assert worst([good]) is Outcome.PASS
    assert worst([]) is Outcome.INCONCLUSIVE


def test_an_inconclusive_verdict_quotes_the_command_with_a_longer_budget(tmp_path: Path) -> None:
    view = raced(tmp_path, 9000, 9000, blocks=1)
    words = ("deadheat", "regress", "--base", "v1 rc", "--budget", "1m", "--", "./s", "{port}")
    (regression,) = regressions_in(replace(view, command=words))
    assert regression.fix is not None
    _, _, command = regression.fix.partition(": ")
    changed = shlex.split(command)
    assert changed[:5] == list(words[:5])
    assert changed[6:] == list(words[6:])
    assert int(changed[5].removesuffix("m")) >= 1
    assert f"fix: a longer run: {command}" in sentence(regression)
    assert f"`{shlex.join(words)}`" in comment(replace(view, command=words), [regression])


def test_a_level_without_valid_trials_names_the_check_that_failed(run: MadeRun) -> None:
    busy = Gate("neighbor", False, 0.5, 0.05, "share", "end other processes")
    rates = {"base-1": 9000.0, "head-2": 9000.0}
    run.race(rates, blocks=3, gates_of={"base-1": [busy], "head-2": [busy]})
    run.end()
    (regression,) = regressions_in(load_view(run.store, run.run_id))
    assert regression.outcome is Outcome.INCONCLUSIVE
    assert regression.fix == "check neighbor failed in 18 of 18 trials: end other processes"
