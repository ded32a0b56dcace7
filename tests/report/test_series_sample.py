"""Which trials have their series in a document: a sample of a long race, or all of them."""

import itertools
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from deadheat.cli import cli
from deadheat.report.findings.analysis import analyze
from deadheat.report.formats.json_document import write
from deadheat.report.model import load
from deadheat.report.model.load import SERIES_TRIALS_MAX, load_view
from tests.report.made import SETTLE, MadeRun, made_run

TRIALS = SERIES_TRIALS_MAX + 40
LOAD = [{"at_s": 0.1 * i, "ok": 100} for i in range(1, 6)]


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.contender("a")
    for block in range(TRIALS):
        run.trial("a", 9000.0 + block, block=block, at_s=float(block), series={"load": LOAD})
    run.end()
    return run


def trials(run: MadeRun, **options: Any) -> list[dict[str, Any]]:
    view = load_view(run.store, run.run_id, whole=True, **options)
    document = json.loads(write(view, analyze(view)))
    read: list[dict[str, Any]] = document["contenders"][0]["levels"][0]["trials"]
    assert document["run"]["series_trials_max"] == options.get(
        "series_trials_max", SERIES_TRIALS_MAX
    )
    return read


def test_a_long_race_has_the_series_of_an_even_sample(run: MadeRun) -> None:
    read = trials(run)
    blocks = [trial["block"] for trial in read if trial["series"]]
    gaps = {after - before for before, after in itertools.pairwise(blocks)}
    assert len(read) == TRIALS
    assert len(blocks) == SERIES_TRIALS_MAX
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
    view = load.load_view(run.store, run.run_id, whole=True)
    with_series = [trial for trial in view.contenders[0].cells[100].trials if trial.series]
    assert len(with_series) == shown == view.series_trials_max


def test_all_series_are_there_on_request(run: MadeRun) -> None:
    assert all(trial["series"] for trial in trials(run, series_trials_max=None))


def test_a_sample_changes_no_figure(run: MadeRun) -> None:
    views = [load_view(run.store, run.run_id, whole=True, series_trials_max=n) for n in (2, None)]
    first, second = (view.contenders[0].cells[100] for view in views)
    assert first.rates_per_s == second.rates_per_s
    assert first.service == second.service


def test_the_command_has_a_flag_for_all_series(run: MadeRun) -> None:
    words = ["report", "--format", "json", "--store", str(run.store.path)]
    documents = [
        json.loads(CliRunner().invoke(cli, [*words, *more]).output)
        for more in ([], ["--all-series"])
    ]
    counts = [
        sum(bool(trial["series"]) for trial in document["contenders"][0]["levels"][0]["trials"])
        for document in documents
    ]
    assert counts == [SERIES_TRIALS_MAX, TRIALS]


def test_all_series_need_a_format_that_has_series(run: MadeRun) -> None:
    words = ["report", "--all-series", "--store", str(run.store.path)]
    with pytest.raises(click.UsageError, match="--format terminal has no series"):
        cli.main(words, standalone_mode=False)
