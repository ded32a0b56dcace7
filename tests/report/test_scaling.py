"""One server at several worker counts."""

import csv
import io
import json
import re
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


def law(workers: int, contention: float, coherency: float) -> float:
    n = workers
    return 1000 * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


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


def test_fits_the_law_and_names_the_limit(tmp_path: Path) -> None:
    workers = (1, 2, 3, 4, 6, 8)
    run = scaled(tmp_path, 8, {n: law(n, 0.02, 0.01) for n in workers}, blocks=10)
    (curve,) = curves_of(run)
    assert curve.fit is not None
    assert curve.fit.coherency.low < 0.01 < curve.fit.coherency.high
    texts = sentences([curve])
    assert texts[0].startswith("s: scalability law (USL) over 6 worker counts")
    assert "peak at N* = " in texts[1]
    assert "at 8 coherency limits it" in texts[1]
    assert "extrapolated" in texts[1]
    assert len(texts) == 2


def test_contention_alone_has_no_peak(tmp_path: Path) -> None:
    run = scaled(tmp_path, 4, {n: law(n, 0.2, 0.0) for n in (1, 2, 4)}, noise=0)
    (curve,) = curves_of(run)
    texts = sentences([curve])
    assert "no peak within the measured range (up to 4 workers)" in texts[1]
    assert "at 4 contention limits it" in texts[1]
    assert "to at most 5.0 times one worker" in texts[1]
    assert texts[2].startswith("s: provisional: 3 worker counts")


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(
    ("contention", "coherency"), [(0.0, 0.0), (1e-5, 0.0), (0.02, 1e-9), (0.05, 1e-5)]
)
def test_no_report_extrapolates_beyond_twice_the_workers_measured(
    tmp_path: Path, contention: float, coherency: float, noise: float
) -> None:
    workers = (1, 2, 3, 4, 6, 8)
    rates = {n: law(n, contention, coherency) for n in workers}
    run = scaled(tmp_path, 8, rates, blocks=10, noise=noise)
    view = load_view(run.store, run.run_id)
    (scaling,) = json.loads(write(view, "json"))["levels"][0]["scaling"]
    peak = scaling["fit"]["peak_workers"]
    assert peak["value"] is None or peak["value"] <= 16
    assert peak["high"] is None or peak["high"] <= 16
    assert peak["low"] <= 16
    limit = scaling["text"][1]
    assert ("peak at N*" in limit) == (peak["value"] is not None)
    times = re.search(r"at most ([\d,.]+) times one worker", limit)
    assert times is None or float(times[1].replace(",", "")) <= 16


def test_more_workers_than_cpus_is_not_a_scaling_curve(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 1, {1: 1000, 2: 1000, 4: 900}))
    assert curve.fit is None
    assert sentences([curve]) == ["s: only 1 CPU for 4 workers, so this is not a scaling curve"]


def test_points_beyond_the_cpus_are_not_fitted(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 4, {1: 1000, 2: 2000, 3: 3000, 8: 3000}))
    assert curve.fit is not None
    assert curve.fit.levels == 3
    assert "not part of the scaling curve" in sentences([curve])[0]


def test_does_not_fit_a_worker_count_without_a_valid_trial(tmp_path: Path) -> None:
    run = scaled(tmp_path, 4, {1: 1000, 2: 2000})
    run.contender("s:w4", server="s", workers=4)
    run.trial("s:w4", 4000.0, gates=failed())
    (curve,) = curves_of(run)
    assert curve.fit is None
    assert "no scalability law fitted" in sentences([curve])[0]
    assert curve.points[2].doubtful
    ratio, low, _ = gains(curve)[2]
    assert ratio == pytest.approx(4, rel=0.2)
    assert low is None


def test_a_single_start_has_ratios_without_intervals(tmp_path: Path) -> None:
    (curve,) = curves_of(scaled(tmp_path, 4, {1: 1000, 2: 2000, 4: 4000}, invocations=1, blocks=3))
    assert gains(curve)[1][1:] == (None, None)
    assert "no interval from 3 blocks" in sentences([curve])[0]


def test_servers_share_a_common_sentence(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    for server in "ab":
        for workers in (1, 2):
            run.contender(f"{server}{workers}", server=server, workers=workers)
    run.race({"a1": 2000, "a2": 2000, "b1": 1000, "b2": 1000})
    assert sentences(curves_of(run)) == [
        "a and b: only 1 CPU for 2 workers, so this is not a scaling curve"
    ]


def test_one_worker_count_is_not_a_curve(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 1000, "b": 2000}, blocks=2)
    assert curves_of(run) == ()


@pytest.mark.parametrize("cpus", [1, 4])
def test_every_format_has_the_curve(tmp_path: Path, cpus: int) -> None:
    run = scaled(tmp_path, cpus, {1: 1000, 2: 2000, 4: 4000})
    view = load_view(run.store, run.run_id)
    texts = {format: write(view, format, verbose=True) for format in FORMATS if format != "html"}
    for format in ("terminal", "md"):
        assert "Scaling with workers, at 100 connections" in texts[format]
    (scaling,) = json.loads(texts["json"])["levels"][0]["scaling"]
    assert (scaling["cpus"], scaling["fit"] is None) == (cpus, cpus == 1)
    assert [point["workers"] for point in scaling["points"]] == [1, 2, 4]
    rows = {row["workers"]: row for row in csv.DictReader(io.StringIO(texts["csv"]))}
    assert float(rows["4"]["ratio_to_fewest_workers"]) == pytest.approx(4, rel=0.03)
