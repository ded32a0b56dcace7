"""What an undecided pair still needs: a time, or the difference that an hour would settle."""

import itertools
import json
import re
from pathlib import Path

import pytest

from deadheat import report
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.points import Point, points
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from tests.report.made import SETTLE, MadeRun, made_run

NARROW = {**SETTLE, "stopping": {**SETTLE["stopping"], "margin": 0.0001}}


def race(folder: Path, rates: dict[str, float], noise: float, **values: object) -> RunView:
    run: MadeRun = made_run(folder / "runs.sqlite", **values)
    run.race(rates, noise=noise)
    return load_view(run.store, run.end(why="budget spent"), whole=True)


def alike(folder: Path) -> RunView:
    """Two servers of the same rate, of which now one and now the other is faster."""
    run = made_run(folder / "runs.sqlite", protocol=NARROW)
    for name in ("a", "b", "c"):
        run.contender(name)
    for at, (invocation, block) in enumerate(itertools.product(range(1, 4), range(1, 9))):
        place = {"invocation": invocation, "block": block, "at_s": 2.0 * at}
        run.trial("a", 1000.0, **place)
        run.trial("b", 1000.0 * (1.1 if block % 2 else 1 / 1.1), **place)
        run.trial("c", 100.0, **place)
    return load_view(run.store, run.end(why="budget spent"), whole=True)


def open_points(view: RunView) -> list[Point]:
    every = points(view, analyze(view), Source("--from run.deadheat"))
    return [point for point in every if point.topic == "OPEN"]


def minutes_of(command: str) -> int:
    match = re.search(r"(?:--budget|--more) (\d+)m", command)
    assert match, command
    return int(match[1])


def test_a_pair_that_an_hour_settles_has_its_time(tmp_path: Path) -> None:
    view = race(tmp_path, {"a": 1020.0, "b": 1000.0}, noise=0.06)
    (pair,) = open_points(view)
    minutes = minutes_of(pair.command)
    assert minutes <= 60
    assert pair.figures.endswith(f"{minutes} min:")


def test_a_closer_pair_has_the_difference_that_an_hour_settles(tmp_path: Path) -> None:
    view = alike(tmp_path)
    (pair,) = open_points(view)
    assert re.search(r"  below \d+\.\d %: too close to settle in an hour$", pair.figures)
    assert minutes_of(pair.command) <= 60
    for format_name in ("terminal", "md"):
        text = " ".join(report.write(view, format_name).split())
        assert "too close to settle in an hour" in text
    verbose = " ".join(report.write(view, "terminal", verbose=True).split())
    assert re.search(r"apart; below [\d.]+ %: too close to settle in an hour", verbose)


def test_json_has_the_time_and_the_difference(tmp_path: Path) -> None:
    view = alike(tmp_path)
    document = json.loads(report.write(view, "json"))
    assert document["run"]["reasonable_s"] == 3600
    pairs = {pair["verdict"]: pair for pair in document["levels"][0]["pairs"]}
    assert pairs["undecided"]["decided_after_s"] > 3600
    assert 0 < pairs["undecided"]["least_difference"] < 1
    assert pairs["separated"]["decided_after_s"] is None
    assert pairs["separated"]["least_difference"] is None


def test_a_pair_that_is_too_close_gets_a_margin_that_an_hour_decides(tmp_path: Path) -> None:
    view = alike(tmp_path)
    (pair,) = open_points(view)
    margin = re.search(r"--margin (\d+)%", pair.command)
    least = re.search(r"below ([\d.]+) %", pair.figures)
    assert margin
    assert least
    assert float(least[1]) <= int(margin[1]) <= 10


def test_two_of_many_need_less_time_than_a_race_of_all(tmp_path: Path) -> None:
    two = {"a": 1020.0, "b": 1000.0}
    (pair,) = open_points(race(tmp_path, two, noise=0.06))
    folder = tmp_path / "many"
    folder.mkdir()
    others = {f"c{n}": 500.0 / 2**n for n in range(8)}
    first, *_ = open_points(race(folder, two | others, noise=0.06))
    assert minutes_of(first.command) < 20 * minutes_of(pair.command)
    assert "c0" not in first.command


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--connections", "10,100"], "--connections 10,100"),
        (["-c", "10", "--close"], "-c 10 --close"),
        (["--asleep"], "--asleep"),
        (["--connections=10", "--budget", "5m"], "--connections=10"),
        (["--server-host", "lab@192.0.2.1"], "--server-host lab@192.0.2.1"),
    ],
)
def test_the_command_keeps_what_the_run_measured(
    tmp_path: Path, words: list[str], kept: str
) -> None:
    command = ("deadheat", "run", "a", "b", *words)
    (pair,) = open_points(race(tmp_path, {"a": 1020.0, "b": 1000.0}, 0.06, command=command))
    assert kept in pair.command
    assert pair.command.count("--budget") == 1
