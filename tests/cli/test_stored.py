"""Errors of commands that read a store."""

import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Deadheat
from tests.report.made import MadeRun

READERS = {
    "report": (),
    "report --list": ("--list",),
    "export": (),
    "compare": ("a", "b"),
    "serve": (),
}


@pytest.mark.parametrize("command", READERS)
def test_every_reader_reports_a_missing_store(deadheat: Deadheat, home: Path, command: str) -> None:
    ended = deadheat(command.split()[0], *READERS[command])
    assert ended.code == 1
    assert " does not exist" in ended.err
    assert ended.hint.startswith("measure with deadheat run")
    assert not (home / "runs.sqlite").exists()


def test_rejects_an_empty_file_as_store(deadheat: Deadheat, tmp_path: Path) -> None:
    """Regression: the error was one of the database."""
    (tmp_path / "empty.sqlite").touch()
    ended = deadheat("report", "--store", str(tmp_path / "empty.sqlite"))
    assert ended.code == 1
    assert "empty.sqlite is empty: no run is stored in it" in ended.err


@pytest.mark.parametrize("command", READERS)
def test_every_reader_rejects_a_database_of_another_program(
    deadheat: Deadheat, tmp_path: Path, command: str
) -> None:
    """Regression: `serve` reported it only on its pages."""
    place = tmp_path / "other.sqlite"
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE mine (a)")
    ended = deadheat(command.split()[0], *READERS[command], "--store", str(place))
    assert ended.code == 1
    assert "it is the database of another program" in ended.err


@pytest.mark.parametrize("command", ["export", "report"])
def test_output_does_not_replace_the_store(deadheat: Deadheat, run: MadeRun, command: str) -> None:
    """Regression: the store and all its runs were lost."""
    run.store.settle()
    before = run.store.path.read_bytes()
    ended = deadheat(command, "-o", str(run.store.path))
    assert ended.code == 2
    assert f"--output {run.store.path}: this file holds the runs" in ended.err
    assert run.store.path.read_bytes() == before


def test_compare_rejects_the_same_contender_twice(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: a traceback."""
    ended = deadheat("compare", "alpha", "alpha", "--in", run.run_id)
    assert ended.code == 2
    assert "alpha" in ended.err


def test_calibrate_rejects_another_kind_of_run(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: a traceback."""
    ended = deadheat("calibrate", "--from", run.run_id)
    assert ended.code == 2
    assert f"error: --from: run {run.run_id} is not a complete race of 0 copies" in ended.err


def test_serve_reports_a_port_in_use_with_a_hint(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: uvicorn reported it without a hint, after the address was printed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = deadheat("serve", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "Address already in use" in ended.err
    assert ended.hint == "choose another port or address"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
def test_output_to_a_full_disk_is_an_error_without_traceback(home: Path, run: MadeRun) -> None:
    """Regression: a traceback."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from deadheat.cli import main; main()", "report"],
            env=os.environ | {"DEADHEAT_HOME": str(home)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ended.returncode != 0
    assert "error: the output: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_table_of_a_run_does_not_replace_the_store(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: the table replaced the store, and every run was lost."""
    before = run.store.rows("SELECT id FROM run")
    ended = deadheat("run", "hello", "--protocol", "brief", "-o", str(run.store.path))
    assert ended.code == 2
    assert "writing it would delete them" in ended.err
    assert run.store.rows("SELECT id FROM run") == before
