"""Commands that read a store: what a user gets wrong, and what must not be lost by it."""

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
def test_no_store_yet_is_told_alike_by_every_reader(deadheat: Deadheat, command: str) -> None:
    ended = deadheat(command.split()[0], *READERS[command])
    assert ended.code == 1
    assert "error: there is no store" in ended.err
    assert ended.way_out.startswith("measure something with deadheat run")


def test_an_empty_file_is_no_store(deadheat: Deadheat, tmp_path: Path) -> None:
    """Regression: a file without a byte was told in the words of the database."""
    (tmp_path / "empty.sqlite").touch()
    ended = deadheat("report", "--store", str(tmp_path / "empty.sqlite"))
    assert ended.code == 1
    assert "empty.sqlite is empty: no run was ever stored in it" in ended.err


@pytest.mark.parametrize("command", READERS)
def test_a_database_of_another_program_is_told_by_every_reader(
    deadheat: Deadheat, tmp_path: Path, command: str
) -> None:
    """Regression: `serve` said so on each of its pages alone."""
    place = tmp_path / "other.sqlite"
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE mine (a)")
    ended = deadheat(command.split()[0], *READERS[command], "--store", str(place))
    assert ended.code == 1
    assert "it is the database of another program" in ended.err


@pytest.mark.parametrize("command", ["export", "report"])
def test_an_output_over_the_store_does_not_replace_it(
    deadheat: Deadheat, run: MadeRun, command: str
) -> None:
    """Regression: the store of every run was gone."""
    run.store.settle()
    before = run.store.path.read_bytes()
    ended = deadheat(command, "-o", str(run.store.path))
    assert ended.code == 1
    assert f"--output {run.store.path}: this is where the runs are" in ended.err
    assert run.store.path.read_bytes() == before


def test_a_contender_beside_itself(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: a traceback."""
    ended = deadheat("compare", "alpha", "alpha", "--in", run.run_id)
    assert ended.code == 1
    assert "error: FIRST and SECOND are both 'alpha'" in ended.err


def test_a_calibration_from_a_run_that_is_none(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: a traceback."""
    ended = deadheat("calibrate", "--from", run.run_id)
    assert ended.code == 1
    assert f"error: --from: run {run.run_id} is no finished race of 0 copies" in ended.err


def test_a_port_that_is_taken_has_a_way_out(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: told by uvicorn, without one, below the address that was not to be had."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = deadheat("serve", "--port", str(taken.getsockname()[1]))
    assert ended.code == 1
    assert "Address already in use" in ended.err
    assert ended.way_out == "name another port or address"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
def test_printing_to_a_full_disk(home: Path, run: MadeRun) -> None:
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


def test_a_run_does_not_write_its_table_over_the_store(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: the table took the store's place, and every run was lost."""
    before = run.store.rows("SELECT id FROM run")
    ended = deadheat("run", "hello", "--protocol", "brief", "-o", str(run.store.path))
    assert ended.code == 1
    assert "they would be lost" in ended.err
    assert run.store.rows("SELECT id FROM run") == before
