"""Two runs or two contenders compared, and verdicts on a change."""

import math
import re
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.comparison import differences, two_contenders, two_runs
from deadheat.report.findings.conclusion import difference
from deadheat.report.formats.regression import (
    Regression,
    _interval,
    comment,
    junit,
    regressions,
    sentence,
    worst,
)
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.change import Change, Outcome
from deadheat.stats.ranking.ratio import RatioInterval
from deadheat.store import Gate
from tests.report.made import SETTLE, MadeRun, made_run
from tests.report.sliced import SLICED, add_slices

RATES = {"alpha": 9000, "beta": 6000, "gamma": 3000}


def raced(run: MadeRun, rates: dict[str, int]) -> RunView:
    run.race(rates, blocks=12)
    return run.ended()


def test_finds_the_contender_whose_rate_changed(run: MadeRun) -> None:
    before = raced(run, RATES)
    after = raced(MadeRun(run.store), RATES | {"beta": 12000})
    lines, data = two_runs(before, after)
    changes = data.levels["100"].changes
    assert changes["beta"].low > 1
    assert changes["beta"].ratio == pytest.approx(2, rel=0.1)
    for name in ("alpha", "gamma"):
        assert changes[name].low < 1 < changes[name].high
    assert any(line.strip().startswith("rank agreement  tau-b 0.333") for line in lines)
    assert lines[-1] == "no difference in the stored setup"


def sliced(run: MadeRun, rates: dict[str, float]) -> RunView:
    """A race in slices, and a control of one start."""
    add_slices(run, rates)
    run.contender("reference", role="control")
    add_slices(run, {"reference": 5000.0}, instances=1)
    return run.ended()


def test_compares_contenders_of_races_in_slices_beside_the_others(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=SLICED)
    before = sliced(run, {"alpha": 9000.0, "beta": 6000.0, "gamma": 3000.0})
    slower = {"alpha": 4500.0, "beta": 4500.0, "gamma": 1500.0}  # the machine, and a faster beta
    after = sliced(MadeRun(run.store, protocol=SLICED), slower)
    lines, data = two_runs(before, after)
    beside = data.levels["100"].changes_beside_the_others
    assert set(beside) == {"alpha", "beta", "gamma"}
    assert beside["beta"].low > 1
    assert beside["beta"].ratio == pytest.approx(1.5, rel=0.02)
    assert beside["alpha"].ratio == pytest.approx(1.5**-0.5, rel=0.02)
    assert any(line.endswith("ratio  beside the others [95 %]") for line in lines)
    (row,) = (line.split() for line in lines if line.startswith("  beta"))
    assert float(row[3]) == pytest.approx(0.75, rel=0.02)
    (control,) = (line for line in lines if line.startswith("  reference  "))
    assert control.endswith("a control")
    assert any("it had too few starts to say whether the machine changed" in line for line in lines)


def test_compares_two_contenders_of_a_run(run: MadeRun) -> None:
    view = raced(run, RATES)
    lines, data = two_contenders(view, "gamma", "alpha")
    pair = data["100"]
    assert pair is not None
    assert (pair.faster, pair.slower, pair.verdict) == ("alpha", "gamma", "separated")
    assert any(re.search("alpha is faster: alpha / gamma (3|2.9)", line) for line in lines)


def test_names_the_workloads_and_definitions_that_differ_in_order(run: MadeRun) -> None:
    names = ["route", "wait", "echo", "files", "db", "auth"]
    plain, routed, changed = (
        MadeRun(run.store, protocol={**SETTLE, "workloads": workloads}).ended()
        for workloads in (
            [],
            [{"name": name, "requests": [{"path": "/a"}]} for name in names],
            [{"name": name, "requests": [{"path": "/b"}]} for name in names],
        )
    )
    assert differences(plain, plain) == ()
    assert [item.what for item in differences(plain, routed)] == ["workloads"]
    whats = [item.what for item in differences(routed, changed)]
    assert whats == [f"workload {name}" for name in names]


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (0.799, 0.697, 0.915, "20.1 % slower [8.5, 30.3]"),
        (1.012, 0.995, 1.03, "1.2 % faster [-0.5, 3.0]"),
        (0.99, 0.97, 1.02, "1.0 % slower [-2.0, 3.0]"),
        (0.99, 0.0, math.inf, "1.0 % slower [unknown]"),
    ],
)
def test_the_interval_has_the_direction_of_its_words(
    ratio: float, low: float, high: float, text: str
) -> None:
    """Regression: "20.1 % slower [-30.3, -8.5]"."""
    assert _interval(Change(ratio, low, high)) == text


@pytest.mark.parametrize(
    ("low", "high", "interval"), [(0.9999, 1.04, "[0.0, 4.0]"), (0.0, math.inf, "[unknown]")]
)
def test_no_interval_has_a_minus_in_front_of_zero(low: float, high: float, interval: str) -> None:
    ratio = RatioInterval(1.02, low, high, 4.0, 8, 3, "made")
    assert difference(ratio) == f"2.0 % {interval}"


def skewed(path: Path, factor: float = 1.0) -> RunView:
    """Rates whose medians contradict the ratio of their geometric means."""
    run = made_run(path)
    rates = {"a": [4000.0, 4708.0, 7000.0], "b": [5045.0, 5000.0, 5100.0]}
    for name, blocks in rates.items():
        run.contender(name)
        for invocation in (1, 2, 3):
            for block, rate in enumerate(blocks, start=1):
                scatter = factor * (1 + 0.002 * invocation * block)
                run.trial(name, rate * scatter, invocation=invocation, block=block)
    return run.ended()


def test_rates_beside_a_ratio_agree_with_it(tmp_path: Path) -> None:
    """Regression: medians 4,708 and 5,045 beside a ratio of 1.165."""
    view = skewed(tmp_path / "runs.sqlite")
    lines, _ = two_contenders(view, "a", "b")
    a, b = (
        float(re.sub(r".* ([\d,]+) req/s.*", r"\1", line).replace(",", "")) for line in lines[2:4]
    )
    ratio = next(
        float(match[1]) for line in lines if (match := re.search(r"[ab] / [ab] ([\d.]+)", line))
    )
    assert max(a, b) / min(a, b) == pytest.approx(ratio, rel=0.002)


def test_rates_of_two_runs_agree_with_their_ratio(tmp_path: Path) -> None:
    first, second = skewed(tmp_path / "1.sqlite"), skewed(tmp_path / "2.sqlite", 1.165)
    lines, _ = two_runs(first, second)
    rows = [line.split() for line in lines if line.split()[:1] in (["a"], ["b"])]
    assert len(rows) == 2
    for _, before, after, ratio, *_ in rows:
        shown = float(after.replace(",", "")) / float(before.replace(",", ""))
        assert shown == pytest.approx(float(ratio), rel=0.002)


def regressed(folder: Path, base: float, head: float, blocks: int = 12) -> RunView:
    run = made_run(folder / "runs.sqlite")
    run.race({"base-1": base, "head-2": head}, blocks=blocks)
    return run.ended()


def regressions_in(view: RunView) -> list[Regression]:
    return regressions(view, analyze(view), "base-1", "head-2")


def test_a_slower_head_fails(tmp_path: Path) -> None:
    view = regressed(tmp_path, 9000, 6000)
    (regression,) = regressions_in(view)
    good = replace(regression, outcome=Outcome.PASS)
    assert regression.outcome is worst([good, regression]) is Outcome.FAIL
    assert regression.low < 6 / 9 < regression.high < 1
    assert "slower [" in sentence(regression)
    assert comment(view, [regression]).startswith("### deadheat: FAIL\n")
    suite = ElementTree.fromstring(junit(view, [regression]))
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == regression.why


def test_a_faster_head_passes(tmp_path: Path) -> None:
    view = regressed(tmp_path, 6000, 9000)
    (regression,) = regressions_in(view)
    assert regression.outcome is worst([regression]) is Outcome.PASS
    assert 1 < regression.low < 9 / 6 < regression.high
    suite = ElementTree.fromstring(junit(view, [regression]))
    assert (suite.get("failures"), suite.get("skipped"), suite.get("tests")) == ("0", "0", "1")


def test_too_little_data_is_inconclusive(tmp_path: Path) -> None:
    view = regressed(tmp_path, 9000, 9000, blocks=1)
    (regression,) = regressions_in(view)
    assert regression.outcome is worst([]) is Outcome.INCONCLUSIVE
    assert ElementTree.fromstring(junit(view, [regression])).get("skipped") == "1"
    assert regression.to_json()["minimum_detectable_effect"] is None
    assert "| – |" in comment(view, [regression])


def test_an_inconclusive_verdict_quotes_the_command_with_a_longer_budget(tmp_path: Path) -> None:
    view = regressed(tmp_path, 9000, 9000, blocks=1)
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
    (regression,) = regressions_in(run.ended())
    assert regression.outcome is Outcome.INCONCLUSIVE
    assert regression.fix == "check neighbor failed in 18 of 18 trials: end other processes"
