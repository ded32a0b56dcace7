"""Listing stored runs, finding the one that is meant, and `deadheat report`."""

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli
from deadheat.errors import DeadheatError, StoreError
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.heading import heading
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import find_run, lines, list_runs
from deadheat.serve.app import listing_page
from deadheat.store import Store, Writer
from deadheat.store.listing import run_argument
from tests.report.made import MadeRun, failed, made_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two runs of known ids: the newer one has not ended."""
    store = Store(tmp_path / "runs.sqlite")
    for run_id, started in (
        ("20261119-080000-aaaa", "2026-11-19T08:00:00+00:00"),
        ("20261120-090000-bbbb", "2026-11-20T09:00:00+00:00"),
    ):
        store._insert(
            "run",
            id=run_id,
            started_at=started,
            state="running",
            protocol='{"name": "quick", "workloads": []}',
            command="[]",
            seed=1,
            deadheat_version="0",
            generator_version="0",
            writer=Writer.this_process().to_text(),
            conclusion="{}",
        )
    return store


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, "20261120-090000-bbbb"),
        ("20261119", "20261119-080000-aaaa"),
        ("20261119-080000-aaaa", "20261119-080000-aaaa"),
        ("aaaa", "20261119-080000-aaaa"),
    ],
)
def test_finds_the_last_run_or_that_of_a_part_of_its_id(
    store: Store, wanted: str | None, found: str
) -> None:
    assert find_run(store, wanted) == found


@pytest.mark.parametrize(
    ("wanted", "symptom", "hint"),
    [
        ("202611", "2 run ids begin with it: 20261120-090000-bbbb", "more of the id"),
        ("20261119-080000-aaab", "no stored run", "20261119-080000-aaaa"),
    ],
)
def test_an_id_of_no_run_or_of_several_names_those_that_it_could_be(
    store: Store, wanted: str, symptom: str, hint: str
) -> None:
    with pytest.raises(StoreError, match=symptom) as caught:
        find_run(store, wanted)
    assert hint in (caught.value.hint or "")


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.sqlite") as store:
        for ask in (lambda: find_run(store, None), lambda: list_runs(store)):
            with pytest.raises(StoreError, match="no run yet"):
                ask()


def test_a_run_whose_process_is_gone_is_lost_not_running(tmp_path: Path) -> None:
    begin = "import sys, pathlib; from tests.report.made import made_run; "
    begin += "made_run(pathlib.Path(sys.argv[1]))"
    path = tmp_path / "runs.sqlite"
    subprocess.run([sys.executable, "-c", begin, str(path)], check=True, cwd=ROOT)
    with Store(path, read_only=True) as store:
        (run,) = list_runs(store)
        view = load_view(store, run.run_id)
        assert (run.state, view.state) == ("lost", "lost")
        assert "process gone" in lines([run], {})
        assert "ended without a conclusion (its process is gone)" in heading(view, analyze(view))[0]


@pytest.mark.parametrize(
    ("other", "state"),
    [
        ({}, "alive"),
        ({"start_ticks": -1}, "gone"),  # a process that has its id again
        ({"boot_id": "another"}, "unknown"),
        ({"pid_namespace": "pid:[1]"}, "unknown"),
    ],
)
def test_only_a_process_of_this_machine_can_be_seen(other: dict[str, Any], state: str) -> None:
    assert replace(Writer.this_process(), **other).state() == state


def test_bug_a_run_without_a_valid_trial_was_the_last_run(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.sqlite") as store:
        first = MadeRun(store)
        first.race({"a": 1000, "b": 900}, blocks=2)
        useful = first.end()
        second = MadeRun(store)
        second.contender("null-server", role="control")
        second.race({"null-server": 9000}, invocations=1, blocks=2)
        second.race({"a": 1000, "b": 900}, blocks=2, gates_of={"a": failed(), "b": failed()})
        empty = second.end(why="budget spent")
        assert find_run(store, None) == useful
        assert find_run(store, None, with_empty=True) == empty
        assert {run.run_id: run.is_empty for run in list_runs(store)} == {
            useful: False,
            empty: True,
        }
        page = listing_page(store, "")
        assert useful in page
        assert empty not in page


def test_bug_an_empty_run_was_the_last_run_if_there_was_no_other(run: MadeRun) -> None:
    run.contender("a", fault="a did not build")
    run_id = run.end(why="budget spent")
    with Store(run.store.path) as store, pytest.raises(StoreError) as raised:
        find_run(store, None)
    assert "no run with a valid trial" in str(raised.value)
    assert raised.value.hint is not None
    assert f"deadheat report {run_argument(run_id, run.store.path)}`" in raised.value.hint


@pytest.fixture
def reported(tmp_path: Path) -> MadeRun:
    made = made_run(tmp_path / "runs.sqlite")
    made.race({"alpha": 9000, "beta": 3000}, blocks=4)
    made.end()
    return made


def invoke(run: MadeRun, *args: str) -> Result:
    return CliRunner().invoke(cli, ["report", *args, "--store", str(run.store.path)])


@pytest.mark.parametrize(("format_", "begins"), [("md", "# "), ("json", "{"), ("csv", "run,")])
def test_other_formats_are_whole_files(
    reported: MadeRun, tmp_path: Path, format_: str, begins: str
) -> None:
    printed = invoke(reported, reported.run_id[:-1], "--format", format_).output
    assert printed.startswith(begins)
    target = tmp_path / "out"
    assert invoke(reported, "--format", format_, "-o", str(target)).output == ""
    assert target.read_text(encoding="utf-8") == printed


def test_an_output_that_cannot_be_written_names_the_flag(reported: MadeRun, tmp_path: Path) -> None:
    error = invoke(reported, "-o", str(tmp_path / "no" / "folder")).exception
    assert isinstance(error, DeadheatError)
    assert str(error).startswith("--output")


def test_a_run_is_reported_while_a_writer_holds_the_store(reported: MadeRun) -> None:
    writer = sqlite3.connect(reported.store.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert invoke(reported).exit_code == 0
    finally:
        writer.execute("ROLLBACK")
        writer.close()
