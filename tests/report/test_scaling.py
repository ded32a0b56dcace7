"""One server at several worker counts."""

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from deadheat.report import write
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.scaling import Curve, curves
from deadheat.report.findings.scaling import scaling_sentences as sentences
from tests.report.made import QUICK, MadeRun, failed, made_run


def scaled(path: Path, cpus: int, rates: Mapping[int, float], **values: Any) -> MadeRun:
    """A race of one server at these rates by workers; protocol `quick` for a single start."""
    made = {"protocol": QUICK} if values.get("invocations") == 1 else {}
    run = made_run(path / "runs.sqlite", cpus=cpus, **made)
    names = {workers: f"s:w{workers}" if workers > 1 else "s" for workers in rates}
    for workers, name in names.items():
        run.contender(name, server="s", workers=workers)
    run.race({names[workers]: rate for workers, rate in rates.items()}, **values)
    return run


def curves_of(run: MadeRun) -> tuple[Curve, ...]:
    view = run.view()
    return curves(view, analyze(view).main)


def gains(curve: Curve) -> list[tuple[Any, ...]]:
    return [astuple(point.gain) for point in curve.points if point.gain]


def test_compares_each_worker_count_with_the_fewest(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 4, {4: 500, 1: 1000, 2: 1900}))
    assert [point.workers for point in curve.points] == [1, 2, 4]
    assert gains(curve)[0] == (1, None, None)
    for (ratio, low, high), truth in zip(gains(curve)[1:], (1.9, 0.5), strict=True):
        assert low < truth < high
        assert low < ratio < high


@pytest.mark.parametrize(
    ("cpus", "within", "sentence"),
    [
        (1, [1], "s: only 1 CPU for 8 workers, so this is not a scaling curve"),
        (4, [1, 2], "s: only 4 CPUs: rows with more workers are not part of the scaling curve"),
    ],
)
def test_more_workers_than_cpus_are_not_part_of_the_curve(
    tmp_path: Path, cpus: int, within: list[int], sentence: str
) -> None:
    (curve,) = curves_of(scaled(tmp_path, cpus, {1: 1000, 2: 2000, 8: 3000}))
    assert [point.workers for point in curve.within] == within
    assert sentences([curve]) == [sentence]


def test_a_worker_count_without_a_valid_trial_is_doubtful(tmp_path: Path) -> None:
    run = scaled(tmp_path, 4, {1: 1000, 2: 2000})
    run.contender("s:w4", server="s", workers=4)
    run.trial("s:w4", 4000.0, gates=failed())
    (curve,) = curves_of(run)
    assert curve.points[2].doubtful
    ratio, low, _ = gains(curve)[2]
    assert ratio == pytest.approx(4, rel=0.2)
    assert low is None


def test_a_single_start_has_ratios_without_intervals(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 4, {1: 1000, 2: 2000, 4: 4000}, invocations=1, blocks=3))
    assert gains(curve)[1][1:] == (None, None)


def test_servers_share_a_common_sentence(run: MadeRun) -> None:
    for server in "ab":
        for workers in (1, 2):
            run.contender(f"{server}{workers}", server=server, workers=workers)
    run.race({"a1": 2000, "a2": 2000, "b1": 1000, "b2": 1000})
    assert sentences(curves_of(run)) == [
        "a and b: only 1 CPU for 2 workers, so this is not a scaling curve"
    ]


def test_one_worker_count_is_not_a_curve(run: MadeRun) -> None:
    run.race({"a": 1000, "b": 2000}, blocks=2)
    assert curves_of(run) == ()


@pytest.mark.parametrize("format_name", ["terminal", "md"])
def test_the_curve_is_a_table_with_its_sentence(tmp_path: Path, format_name: str) -> None:
    view = scaled(tmp_path, 1, {1: 1000, 2: 2000}).view()
    text = write(view, format_name, verbose=True)
    assert "Scaling with workers, at 100 connections" in text
    assert "so this is not a scaling curve" in " ".join(text.split())
