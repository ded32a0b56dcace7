"""`deadheat report`."""

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli
from deadheat.errors import DeadheatError
from tests.report.made import MadeRun, made_run


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000}, blocks=4)
    run.end()
    return run


def invoke(run: MadeRun, *args: str) -> Result:
    return CliRunner().invoke(cli, ["report", *args, "--store", str(run.store.path)])


def test_shows_the_last_run_without_color_codes(run: MadeRun) -> None:
    result = invoke(run)
    assert result.exit_code == 0
    assert f"deadheat report {run.run_id[-4:]} --store" in result.output
    assert "\x1b" not in result.output


@pytest.mark.parametrize(("format_", "begins"), [("md", "# "), ("json", "{"), ("csv", "run,")])
def test_other_formats_are_whole_files(
    run: MadeRun, tmp_path: Path, format_: str, begins: str
) -> None:
    printed = invoke(run, run.run_id[:-1], "--format", format_).output
    assert printed.startswith(begins)
    target = tmp_path / "out"
    assert invoke(run, "--format", format_, "-o", str(target)).output == ""
    assert target.read_text(encoding="utf-8") == printed


def test_an_output_that_cannot_be_written_names_the_flag(run: MadeRun, tmp_path: Path) -> None:
    error = invoke(run, "-o", str(tmp_path / "no" / "folder")).exception
    assert isinstance(error, DeadheatError)
    assert str(error).startswith("--output")


def test_a_run_is_reported_while_a_writer_holds_the_store(run: MadeRun) -> None:
    writer = sqlite3.connect(run.store.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert invoke(run).exit_code == 0
    finally:
        writer.execute("ROLLBACK")
        writer.close()
