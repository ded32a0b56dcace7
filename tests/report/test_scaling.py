"""One server at several worker counts."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from deadheat.report import FORMATS, write
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.scaling import Curve, curves
from deadheat.report.findings.scaling import scaling_sentences as sentences
from deadheat.report.model.load import load_view
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
    view = load_view(run.store, run.run_id)
    return curves(view, analyze(view).main)


def gains(curve: Curve) -> list[tuple[Any, ...]]:
    return [astuple(point.gain) for point in curve.points if point.gain]


def test_compares_each_worker_count_with_the_fewest(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 4, {4: 3200, 1: 1000, 2: 1900}))
    assert [point.workers for point in curve.points] == [1, 2, 4]
    assert gains(curve)[0] == (1, None, None)
    ratio, low, high = gains(curve)[1]
    assert low < 1.9 < high
    assert low < ratio < high
    assert gains(curve)[2][0] == pytest.approx(3.2, rel=0.03)


def test_a_slower_server_with_more_workers_has_a_gain_below_one(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 2, {1: 1000, 2: 500}))
    ratio, low, high = gains(curve)[1]
    assert low < ratio < high < 0.6
    assert low < 0.5 < high


def test_more_workers_than_cpus_is_not_a_scaling_curve(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 1, {1: 1000, 2: 1000, 4: 900}))
    assert sentences([curve]) == ["s: only 1 CPU for 4 workers, so this is not a scaling curve"]


def test_points_beyond_the_cpus_are_not_part_of_the_curve(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 4, {1: 1000, 2: 2000, 3: 3000, 8: 3000}))
    assert [point.workers for point in curve.within] == [1, 2, 3]
    assert "not part of the scaling curve" in sentences([curve])[0]


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


@pytest.mark.parametrize("cpus", [1, 4])
def test_every_format_has_the_curve(tmp_path: Path, cpus: int) -> None:
    run = scaled(tmp_path, cpus, {1: 1000, 2: 2000, 4: 4000})
    view = load_view(run.store, run.run_id)
    texts = {
        format_name: write(view, format_name, verbose=True)
        for format_name in FORMATS
        if format_name != "html"
    }
    for format_name in ("terminal", "md"):
        assert "Scaling with workers, at 100 connections" in texts[format_name]
    (scaling,) = json.loads(texts["json"])["levels"][0]["scaling"]
    assert (scaling["cpus"], len(scaling["text"])) == (cpus, 1 if cpus == 1 else 0)
    assert [point["workers"] for point in scaling["points"]] == [1, 2, 4]
    rows = {row["workers"]: row for row in csv.DictReader(io.StringIO(texts["csv"]))}
    assert float(rows["4"]["ratio_to_fewest_workers"]) == pytest.approx(4, rel=0.03)
