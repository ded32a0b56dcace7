"""Listing stored runs, finding the one that is meant, and `deadheat report`."""

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

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
from deadheat.store.listing import contender_names, run_argument
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


def test_the_last_run_is_the_default(store: Store) -> None:
    assert find_run(store, None) == "20261120-090000-bbbb"


@pytest.mark.parametrize("wanted", ["20261119", "20261119-080000-aaaa"])
def test_finds_a_run_by_a_unique_prefix(store: Store, wanted: str) -> None:
    assert find_run(store, wanted) == "20261119-080000-aaaa"


def test_an_ambiguous_prefix_names_the_runs(store: Store) -> None:
    with pytest.raises(StoreError, match="2 run ids begin with it: 20261120-090000-bbbb"):
        find_run(store, "202611")


def test_an_unknown_id_names_the_nearest(store: Store) -> None:
    with pytest.raises(StoreError, match="no stored run") as caught:
        find_run(store, "20261119-080000-aaab")
    assert caught.value.hint is not None
    assert "20261119-080000-aaaa" in caught.value.hint


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.sqlite") as store:
        for ask in (lambda: find_run(store, None), lambda: list_runs(store)):
            with pytest.raises(StoreError, match="no run yet"):
                ask()


def test_lists_each_run_on_one_line(run: MadeRun) -> None:
    run.contender("null-server", role="control")
    run.race({"a": 9000, "b": 6000}, invocations=1, blocks=2)
    run.end()
    (listed,) = list_runs(run.store)
    assert (listed.state, listed.protocol, listed.contenders, listed.trials) == (
        "complete",
        "settle",
        2,
        4,
    )
    assert listed.ended_at is not None


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


def test_a_run_of_this_process_is_running(tmp_path: Path) -> None:
    assert list_runs(made_run(tmp_path / "runs.sqlite").store)[0].state == "running"


def test_a_reused_pid_is_another_process() -> None:
    here = Writer.this_process()
    assert here.state() == "alive"
    assert replace(here, start_ticks=here.start_ticks + 1).state() == "gone"


def test_a_process_of_another_machine_or_container_cannot_be_seen() -> None:
    here = Writer.this_process()
    assert replace(here, boot_id="another").state() == "unknown"
    assert replace(here, pid_namespace="pid:[1]").state() == "unknown"


def test_the_list_names_the_contenders(run: MadeRun) -> None:
    run.race(dict.fromkeys("abcdef", 1000.0), invocations=1, blocks=1)
    run.contender("null-server", role="control")
    (line,) = lines(list_runs(run.store), contender_names(run.store)).splitlines()
    assert line.endswith("  a, b, c, d, 2 more")


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


def test_shows_the_last_run_without_color_codes(reported: MadeRun) -> None:
    result = invoke(reported)
    assert result.exit_code == 0
    assert f"deadheat report {reported.run_id[-4:]} --store" in result.output
    assert "\x1b" not in result.output


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
