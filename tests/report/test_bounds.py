"""Unranked contenders that are known to be faster than ranked ones."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.bounds import AtLeast, at_least
from deadheat.report.findings.conclusion import conclusions
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.points import points
from deadheat.report.model.load import load_view
from deadheat.store import Gate
from tests.report.made import failed, made_run

BUSY = failed("client_cpu", 0.93)


def bounds_of(folder: Path, rate: float, gates: Sequence[Gate]) -> tuple[AtLeast, ...]:
    run = made_run(folder / "runs.sqlite")
    run.race({"fast": rate, "middle": 9000, "slow": 3000}, blocks=12, gates_of={"fast": gates})
    run.end()
    view = load_view(run.store, run.run_id)
    analysis = analyze(view)
    assert "fast" not in [item.name for item in analysis.main.ranked]
    bounds = at_least(view, analysis.main)
    texts = [item.text for item in conclusions(view, analysis) if item.topic == "lower bound"]
    assert len(texts) == len(bounds)
    return bounds


def test_a_client_limited_rate_is_a_lower_bound(tmp_path: Path) -> None:
    (bound,) = bounds_of(tmp_path, 15000, BUSY)
    assert (bound.contender.name, bound.beaten) == ("fast", ("middle", "slow"))
    assert 1 < bound.ratio_low < 15000 / 9000


def test_a_bound_beats_no_faster_contender(tmp_path: Path) -> None:
    (bound,) = bounds_of(tmp_path, 6000, BUSY)
    assert bound.beaten == ("slow",)


def test_no_bounds_without_a_ranking(tmp_path: Path) -> None:
    """Regression: a traceback if a busy machine failed a gate in the second of two heats."""
    run = made_run(tmp_path / "runs.sqlite")
    controls = {"null-server": 50_000, "reference": 12_000}
    for name in controls:
        run.contender(name, role="control")
    run.race(controls | {"slow": 3000}, invocations=1, blocks=2, heat=1)
    run.race(
        controls | {"fast": 9000},
        invocations=1,
        blocks=2,
        heat=2,
        gates_of={"fast": BUSY},
    )
    run.end()
    view = load_view(run.store, run.run_id)
    assert at_least(view, analyze(view).main) == ()


def test_finds_bounds_without_a_measured_control(tmp_path: Path) -> None:
    """Regression: a traceback."""
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("reference", role="control", fault="it did not start")
    gates = {"fast": BUSY}
    run.race({"fast": 15000, "slow": 3000}, blocks=12, gates_of=gates)
    run.race({"middle": 9000}, blocks=12)
    run.end()
    view = load_view(run.store, run.run_id)
    (bound,) = at_least(view, analyze(view).main)
    assert bound.beaten == ("middle", "slow")


def test_no_bound_if_another_gate_failed(tmp_path: Path) -> None:
    assert bounds_of(tmp_path, 15000, (*BUSY, *failed("steal"))) == ()


@pytest.mark.parametrize(
    ("ratio_low", "sentence", "point"),
    [
        (1.0004, "fast is faster than slow: ", "the client limited its rate"),
        (1.25, "fast is at least 25.0 % faster than slow: ", "+25.0 % or more; the client"),
    ],
)
def test_a_bound_of_0_0_percent_is_not_printed(
    tmp_path: Path, ratio_low: float, sentence: str, point: str
) -> None:
    """Regression: "faster by 0.0 % or more"."""
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"slow": 3000, "slower": 1000})
    run.contender("fast")
    run.end()
    view = load_view(run.store, run.run_id)
    analysis = analyze(view)
    fast = next(contender for contender in view.contenders if contender.name == "fast")
    analysis.main.kept["at_least"] = (AtLeast(fast, ("slow",), ratio_low),)
    (text,) = [each.text for each in conclusions(view, analysis) if each.topic == "lower bound"]
    assert text.startswith(sentence)
    all_points = points(view, analysis, Source.stored(view))
    (figures,) = [each.figures for each in all_points if each.text == "fast > slow"]
    assert figures.startswith(point)
