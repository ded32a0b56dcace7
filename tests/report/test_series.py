"""What happened within a trial, short enough for a page, and which trials have it in a document."""

import itertools
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from deadheat.cli import cli
from deadheat.report.model import load
from deadheat.report.model.load import SERIES_TRIALS_MAX, load_view
from deadheat.report.model.series import WINDOWS_MAX, series
from tests.report.made import SETTLE, MadeRun, made_run

TRIALS = SERIES_TRIALS_MAX + 40
LOAD = [{"at_s": 0.1 * i, "ok": 100} for i in range(1, 6)]


def test_leaves_out_the_fragment_after_the_last_window() -> None:
    load = [{"at_s": 0.1, "ok": 10}, {"at_s": 0.2, "ok": 20}, {"at_s": 0.2004, "ok": 5}]
    columns = series(load, [])
    assert columns.rate_at_s == (0.1, 0.2)
    assert columns.rate_per_s == pytest.approx((100, 200))


def test_a_long_trial_is_joined_and_loses_no_request() -> None:
    load = [{"at_s": 0.1 * i, "ok": i} for i in range(1, 301)]
    columns = series(load, [])
    assert len(columns.rate_per_s) == WINDOWS_MAX
    assert sum(columns.rate_per_s) * 0.5 == pytest.approx(sum(range(1, 301)), rel=1e-4)
    assert columns.rate_at_s[-1] == pytest.approx(30.0)


def sampled(cpu_s: list[float], every_s: float = 0.2) -> list[dict[str, object]]:
    """Samples with the CPU time used so far."""
    return [
        {"at_s": 50.0 + every_s * i, "usage": {"7": {"cpu_s": used, "memory_bytes": 100 + i}}}
        for i, used in enumerate(cpu_s)
    ]


def test_cpu_use_is_between_samples_that_read_it() -> None:
    machine = [*sampled([1.0, 1.1, 1.3, 1.5, 1.6, 1.6])]
    machine.insert(2, {"at_s": 50.3, "usage": {}})
    columns = series([], machine)
    assert columns.usage_at_s == (0.4, 0.6, 0.8)
    assert columns.cpu_cores == pytest.approx((1.0, 1.0, 0.5))
    assert columns.memory_bytes == (102, 103, 104)


def test_cpu_use_of_a_chart_agrees_with_the_figure_below_it() -> None:
    """Regression: 0.77 in the chart, 0.99 in the facts. The chart counted time without load."""
    idle_at_both_ends = [1.0, 1.154, 1.308]
    (chart,) = series([], sampled(idle_at_both_ends), (0.31, 0.99, 900)).cpu_cores
    assert chart == 0.99
    long = series([], sampled([1.0, 1.1, 1.298, 1.496, 1.6]), (0.8, 0.99, 900))
    assert long.cpu_cores == pytest.approx((0.99, 0.99))


def test_a_trial_of_slices_has_its_cpu_use_and_its_peak_memory() -> None:
    """It has no samples in between: its instance ran during its slices only."""
    columns = series([{"at_s": 0.1, "ok": 10}], [], (1.0, 0.83, 4096))
    assert (columns.usage_at_s, columns.cpu_cores) == ((1.0,), (0.83,))
    assert columns.memory_bytes == (4096,)


def test_an_empty_series_is_empty() -> None:
    assert series([], []).rate_per_s == ()
    assert series([{"at_s": 0.0, "ok": 0}], [{"at_s": 1.0, "usage": {}}]).cpu_cores == ()


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.contender("a")
    for block in range(TRIALS):
        run.trial("a", 9000.0 + block, block=block, at_s=float(block), series={"load": LOAD})
    run.end()
    return run


def trials(run: MadeRun, *flags: str) -> tuple[int | None, list[dict[str, Any]]]:
    """The limit that the document names, and its trials."""
    words = ["report", "--format", "json", "--store", str(run.store.path), *flags]
    document = json.loads(CliRunner().invoke(cli, words).output)
    read: list[dict[str, Any]] = document["contenders"][0]["levels"][0]["trials"]
    return document["run"]["series_trials_max"], read


def test_a_long_race_has_the_series_of_an_even_sample(run: MadeRun) -> None:
    most, read = trials(run)
    blocks = [trial["block"] for trial in read if trial["series"]]
    gaps = {after - before for before, after in itertools.pairwise(blocks)}
    assert len(read) == TRIALS
    assert len(blocks) == SERIES_TRIALS_MAX == most
    assert (blocks[0], blocks[-1]) == (0, TRIALS - 1)
    assert gaps <= {1, 2}


@pytest.mark.parametrize(
    ("in_all", "least", "shown"), [(30, 10, 30), (5, 10, 10), (TRIALS, 10, 60)]
)
def test_a_larger_run_shows_fewer_of_each_contender(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch, in_all: int, least: int, shown: int
) -> None:
    monkeypatch.setattr(load, "SERIES_TRIALS_IN_ALL", in_all)
    monkeypatch.setattr(load, "SERIES_TRIALS_MIN", least)
    view = run.view(whole=True)
    with_series = [trial for trial in view.contenders[0].cells[100].trials if trial.series]
    assert len(with_series) == shown == view.series_trials_max


def test_a_sample_changes_no_figure(run: MadeRun) -> None:
    views = [load_view(run.store, run.run_id, whole=True, series_trials_max=n) for n in (2, None)]
    first, second = (view.contenders[0].cells[100] for view in views)
    assert first.rates_per_s == second.rates_per_s
    assert first.service == second.service


def test_the_command_has_a_flag_for_all_series(run: MadeRun) -> None:
    most, read = trials(run, "--all-series")
    assert most is None
    assert all(trial["series"] for trial in read)


def test_all_series_need_a_format_that_has_series(run: MadeRun) -> None:
    words = ["report", "--all-series", "--store", str(run.store.path)]
    with pytest.raises(click.UsageError, match="--format terminal has no series"):
        cli.main(words, standalone_mode=False)
