"""What a user reads when something is wrong: what, and the way out. Before anything is measured."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from tests.cli.conftest import Deadheat


def test_an_unknown_server_is_told_with_the_nearest(deadheat: Deadheat) -> None:
    ended = deadheat("run", "helo", "--protocol", "brief")
    assert ended.code == 1
    assert "error: unknown server 'helo'" in ended.err
    assert ended.way_out == "did you mean hello?"


def test_an_unknown_protocol_is_told_with_the_nearest(deadheat: Deadheat) -> None:
    ended = deadheat("run", "hello", "--protocol", "breif")
    assert ended.code == 1
    assert "--protocol: no file" in ended.err
    assert ended.way_out == "did you mean brief?"


def test_an_unknown_setting_names_those_there_are(deadheat: Deadheat) -> None:
    ended = deadheat("run", "dies-mid-trial", "--protocol", "brief", "--setting", "at-last")
    assert "no setting 'at-last'" in ended.err
    assert ended.way_out == "available: default, at-once"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--duration", "5"), "'5': expected a duration such as 500ms, 5s or 2m"),
        (("--duration", "0s"), "'0s': expected a duration"),
        (("--budget", "5 minutes"), "'5 minutes': expected a duration"),
        (("--connections", "10,many"), "'10,many': expected positive numbers such as 10,100,1000"),
        (("--connections", "0"), "'0': expected positive numbers"),
        (("--workers", "-1"), "'-1': expected positive numbers"),
        (("--margin", "0.03"), "'0.03': expected a percentage above 0 and below 50, such as 3%"),
        (("--margin", "50%"), "'50%': expected a percentage"),
        (("--repetitions", "0"), "0 is not in the range x>=1"),
        (("--generator", "siege"), "'siege' is not one of 'engine', 'wrk', 'ab'"),
        (("--colour",), "No such option"),
    ],
)
def test_a_flag_that_is_not_understood(
    deadheat: Deadheat, arguments: tuple[str, ...], fault: str
) -> None:
    ended = deadheat("run", "hello", *arguments)
    assert ended.code == 2
    assert fault in ended.err


def test_latency_with_a_generator_that_has_no_rate(deadheat: Deadheat) -> None:
    """Regression: told when everything else had been measured, and the run was a failed one."""
    ended = deadheat("run", "hello", "--protocol", "brief", "--generator", "wrk", "--latency")
    assert ended.code == 1
    assert "error: --latency asks for a fixed rate, and wrk has none" in ended.err
    assert "starting" not in ended.err


@pytest.mark.usefixtures("bare_path")
def test_a_load_generator_that_is_missing(deadheat: Deadheat) -> None:
    ended = deadheat("run", "hello", "--protocol", "brief", "--generator", "wrk")
    assert ended.code == 1
    assert "error: the load generator wrk cannot be run" in ended.err
    assert ended.way_out == "apt-get install wrk"


def test_an_engine_that_is_missing(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADHEAT_LOAD", "/nowhere/deadheat-load")
    ended = deadheat("run", "hello", "--protocol", "brief")
    assert "error: the load engine deadheat-load is not in /nowhere" in ended.err
    assert "make build" in ended.way_out


@pytest.mark.usefixtures("bare_path")
def test_a_toolchain_that_is_missing(deadheat: Deadheat) -> None:
    ended = deadheat("build", "hello")
    assert ended.code == 1
    assert "hello is left out: python3 is not installed" in ended.err
    assert "install it: apt-get install -y python3" in ended.err
    ended = deadheat("run", "hello", "--protocol", "brief")
    assert ended.code == 1
    assert "error: no contender is left to measure" in ended.err


@pytest.mark.parametrize(
    ("own", "fault"),
    [
        (("./my-server", "8080"), "`./my-server 8080` does not say where its port goes"),
        (("no-such-program", "{port}"), "no program 'no-such-program' is here to run"),
    ],
)
def test_a_command_of_the_users_that_cannot_be_run(
    deadheat: Deadheat, own: tuple[str, ...], fault: str
) -> None:
    ended = deadheat("run", "hello", "--protocol", "brief", "--", *own)
    assert ended.code == 1
    assert fault in ended.err
    assert ended.way_out


@pytest.mark.parametrize("flag", ["--store", "-o"])
def test_a_place_that_cannot_be_written(deadheat: Deadheat, tmp_path: Path, flag: str) -> None:
    """Regression: a traceback, and for -o only when everything had been measured."""
    (tmp_path / "file").write_text("")
    ended = deadheat("run", "hello", "--protocol", "brief", flag, str(tmp_path / "file" / "place"))
    assert ended.code == 1
    assert f"error: {tmp_path / 'file'} cannot be made: " in ended.err
    assert "--store FILE" in ended.way_out
    assert "starting" not in ended.err


def test_a_home_that_cannot_be_written(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DEADHEAT_HOME", str(tmp_path / "file"))
    ended = deadheat("verify", "hello")
    assert ended.code == 1
    assert "cannot be made: " in ended.err
    assert "DEADHEAT_HOME" in ended.way_out


def test_a_disk_with_no_room(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
    ended = deadheat("run", "hello", "--protocol", "brief")
    assert ended.code == 1
    assert "error: less than 200 MiB are free in" in ended.err


def test_a_file_that_is_no_store(deadheat: Deadheat, tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("something else\n" * 100)
    ended = deadheat("run", "hello", "--protocol", "brief", "--store", str(place))
    assert f"error: the store {place} cannot be written: file is not a database" in ended.err
    assert place.read_text().startswith("something else")


def test_a_catalog_that_is_none(deadheat: Deadheat, tmp_path: Path) -> None:
    ended = deadheat("list", "--catalog", str(tmp_path))
    assert f"error: no servers/ in {tmp_path}" in ended.err
    assert ended.way_out == "--catalog DIR is the folder that contains servers/"


def test_names_and_a_language_that_exclude_each_other(deadheat: Deadheat) -> None:
    ended = deadheat("list", "--language", "cobol")
    assert "--language: no server is written in 'cobol'" in ended.err
    assert ended.way_out == "available: python"


def test_an_error_carries_its_way_out() -> None:
    error = DeadheatError("what went wrong", "the way out")
    assert (str(error), error.hint) == ("what went wrong", "the way out")


@pytest.mark.parametrize("wanted", ["1", ""])
def test_no_color_is_no_bold_either(wanted: str, tmp_path: Path) -> None:
    """Regression: NO_COLOR took the colours, and left the rest of the escapes."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from deadheat.cli import main; main()"]
    command += ["report", "--store", str(tmp_path / "none")]
    env = {**os.environ, "NO_COLOR": wanted}
    subprocess.run(command, stderr=theirs, env=env, timeout=60, check=False)
    assert (b"\x1b" in os.read(ours, 65536)) is not bool(wanted)
    os.close(ours)
    os.close(theirs)
