"""Errors that are reported before anything is measured."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Deadheat


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--url", "http://user:secret@127.0.0.1:1/"),
        ("run", "--url", "http://user:se/secret@127.0.0.1:1/"),
        ("run", "http://user:secret@127.0.0.1:1/"),
        ("verify", "http://user:secret@127.0.0.1:1/"),
        ("run", "hello", "--catalog", "http://user:secret@127.0.0.1:1/"),
        ("run", "--path", "http://user:secret@127.0.0.1:1/", "--", "true", "{port}"),
    ],
)
def test_bug_a_password_in_a_url_was_printed_and_stored(
    deadheat: Deadheat, home: Path, words: tuple[str, ...]
) -> None:
    ended = deadheat(*words)
    assert ended.code != 0
    assert "secret" not in ended.out + ended.err
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not any(b"secret" in each for each in kept)


EMPTY = ("o", "store", "server-host", "load-host", "name", "url", "catalog", "protocol", "setting")


@pytest.mark.parametrize(
    "words",
    [
        *(("run", "hello", f"-{o}" if len(o) == 1 else f"--{o}", "") for o in EMPTY),
        *(("run", "--"), ("run", "--", ""), ("run", "--", "", "{port}"), ("run", "")),
        *(("run", "--command", ""), ("run", "--command", " "), ("plan", ""), ("verify", "--")),
        *(("capacity", "hello", "--server-host="), ("regress", "--base", "", "--", "sh", "{port}")),
        *(("new", ""), ("new", "mine", "--like", ""), ("report", "--from", "")),
    ],
)
def test_bug_an_empty_value_of_a_script_meant_something(
    deadheat: Deadheat, words: tuple[str, ...]
) -> None:
    """An unset variable began to build every server, and `--server-host ''` was this machine."""
    ended = deadheat(*words)
    assert (ended.code, "building" in ended.err) == (2, False), ended.err
    assert "empty" in ended.err or "expected a command behind it" in ended.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (
            "run hallo --conections 10 --budgt=5m --margin 9 -d soon",
            ("'--conections'", "'--budgt'", "'9': expected", "'soon': expected", "'hallo'"),
        ),
        (
            "plan hallo tyres --language pyton --protocol settel --workload helo,rout",
            ("servers 'hallo', 'tyres'", "in 'pyton'", "--protocol settel", "'helo'", "'rout'"),
        ),
        ("run hallo --clsoe hello", ("'--clsoe'", "unknown server 'hallo' in")),
        ("run --command 'sh --workload helo", ('--command "\'sh": No closing', "'helo'")),
        ("resume x --seed 3 --mor 1m", ("--seed would change the run", "'--mor'")),
    ],
)
def test_bug_a_typo_hid_the_others_of_its_command_line(
    deadheat: Deadheat, words: str, named: tuple[str, ...]
) -> None:
    ended = deadheat(*words.split())
    assert ended.code == 2
    assert [each for each in named if each not in ended.err] == [], ended.err
    assert "starting" not in ended.err


def test_an_unknown_setting_is_reported_with_the_available_ones(deadheat: Deadheat) -> None:
    ended = deadheat("run", "dies-mid-trial", "--protocol", "brief", "--setting", "at-last")
    assert "no setting 'at-last'" in ended.err
    assert deadheat("run", "dies-mid-trial:at-last", "--protocol", "brief").err == ended.err
    assert "default, at-once" in ended.hint


@pytest.mark.parametrize(
    ("arguments", "symptom"),
    [
        (("--duration", "5"), "'5': expected a duration such as 500ms, 5s or 2m30s"),
        (("--duration", "0s"), "'0s': expected a duration"),
        (("--budget", "5 minutes"), "'5 minutes': expected a duration"),
        (("--connections", "10,many"), "'10,many': expected positive numbers such as 10,100,1000"),
        (("--connections", "0"), "'0': expected positive numbers"),
        (("--workers", "-1"), "'-1': expected positive numbers"),
        (("--margin", "0.03"), "'0.03': expected a percentage above 0 and below 50, such as 3%"),
        (("--margin", "50%"), "'50%': expected a percentage"),
        (("--repetitions", "0"), "'0': expected a whole number of at least 1"),
        (("--generator", "siege"), "'siege' is not one of 'engine', 'wrk', 'ab'"),
    ],
)
def test_rejects_an_invalid_flag_or_value(
    deadheat: Deadheat, arguments: tuple[str, ...], symptom: str
) -> None:
    ended = deadheat("run", "hello", *arguments)
    assert ended.code == 2
    assert symptom in ended.err


def test_bug_a_body_from_a_device_without_end_was_read_for_ever(deadheat: Deadheat) -> None:
    ended = deadheat("run", "--body", "/dev/zero", "--url", "http://127.0.0.1:1/")
    assert (ended.code, "--body /dev/zero: expected a regular file" in ended.err) == (2, True)


def test_rejects_latency_of_servers_that_run_alone(deadheat: Deadheat) -> None:
    """Regression: it was reported after everything else had been measured, and the run failed."""
    ended = deadheat("run", "hello", "--protocol", "paper", "--latency")
    assert ended.code == 2
    assert "error: --latency: protocol paper measures nothing but its own trials" in ended.err
    assert "starting" not in ended.err


@pytest.mark.parametrize("generator", ["wrk", "ab"])
def test_rejects_a_race_with_the_generator_of_a_replay(deadheat: Deadheat, generator: str) -> None:
    ended = deadheat("run", "hello", "--protocol", "brief", "--generator", generator)
    assert ended.code == 2
    assert f"error: --generator {generator}: protocol brief needs our engine" in ended.err
    assert f"deadheat run --protocol kzmake-2018 --generator {generator}" in ended.hint


def test_rejects_a_budget_for_a_number_of_repetitions(deadheat: Deadheat) -> None:
    ended = deadheat("plan", "hello", "--protocol", "brief", "--budget", "1m")
    assert ended.code == 2
    assert "error: --budget: protocol brief ends after 2 repetitions" in ended.err


def test_a_search_is_no_race(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEADHEAT_CATALOG")
    for command in ("run", "plan"):
        ended = deadheat(command, "go-gin", "--protocol", "capacity")
        assert ended.code == 2
        assert "--protocol capacity: it searches for a rate" in ended.err


@pytest.mark.usefixtures("bare_path")
def test_a_missing_load_generator_is_reported_with_its_package(deadheat: Deadheat) -> None:
    ended = deadheat("run", "hello", "--protocol", "paper", "--generator", "wrk")
    assert ended.code == 1
    assert "error: the load generator wrk cannot be run" in ended.err
    assert ended.hint == "apt-get install wrk"


def test_a_missing_engine_is_reported_with_how_to_build_it(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_LOAD", "/nowhere/deadheat-load")
    ended = deadheat("run", "hello", "--protocol", "brief")
    assert "error: the load engine deadheat-load is not in /nowhere" in ended.err
    assert "make build" in ended.hint


@pytest.mark.usefixtures("bare_path")
def test_a_missing_toolchain_is_reported_with_its_install_command(deadheat: Deadheat) -> None:
    ended = deadheat("build", "hello")
    assert ended.code == 1
    assert "hello is left out: python3 is not installed" in ended.err
    assert "apt-get install -y python3" in ended.err
    ended = deadheat("run", "hello", "--protocol", "brief")
    assert ended.code == 1
    assert "error: no contender is left to measure" in ended.err


@pytest.mark.parametrize(
    ("own", "symptom"),
    [
        (("./my-server", "8080"), "`./my-server 8080` has no {port}"),
        (("no-such-program", "{port}"), "no program 'no-such-program': not found on PATH"),
        (("./my-server", "{port}"), "no program './my-server': not in /"),
        (("/etc/passwd", "{port}"), "no program '/etc/passwd': it cannot be executed"),
    ],
)
def test_rejects_an_own_command_that_cannot_be_run(
    deadheat: Deadheat, own: tuple[str, ...], symptom: str
) -> None:
    ended = deadheat("run", "hello", "--protocol", "brief", "--", *own)
    assert ended.code == 2
    assert symptom in ended.err
    assert ended.hint


@pytest.mark.parametrize("flag", ["--store", "-o"])
def test_rejects_a_file_in_a_folder_that_cannot_be_created(
    deadheat: Deadheat, tmp_path: Path, flag: str
) -> None:
    """Regression: a traceback, and for -o only after everything had been measured."""
    (tmp_path / "file").write_text("")
    ended = deadheat("run", "hello", "--protocol", "brief", flag, str(tmp_path / "file" / "place"))
    assert ended.code == 1
    assert f"error: {tmp_path / 'file'} cannot be created: " in ended.err
    assert "--store FILE" in ended.hint
    assert "starting" not in ended.err


def test_rejects_a_home_that_cannot_be_created(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DEADHEAT_HOME", str(tmp_path / "file"))
    ended = deadheat("verify", "hello")
    assert ended.code == 1
    assert "cannot be created: " in ended.err
    assert "DEADHEAT_HOME" in ended.hint


def test_rejects_a_full_disk(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
    ended = deadheat("run", "hello", "--protocol", "brief")
    assert ended.code == 1
    assert " has less than 200 MiB of free space" in ended.err


def test_rejects_a_store_that_is_another_file(deadheat: Deadheat, tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("something else\n" * 100)
    ended = deadheat("run", "hello", "--protocol", "brief", "--store", str(place))
    assert f"error: the store {place} cannot be written: file is not a database" in ended.err
    assert place.read_text().startswith("something else")


def test_rejects_a_catalog_without_servers(deadheat: Deadheat, tmp_path: Path) -> None:
    ended = deadheat("list", "--catalog", str(tmp_path))
    assert f"error: no servers/ in {tmp_path}" in ended.err
    assert "servers/" in ended.hint


def test_an_unknown_language_is_reported_with_the_available_ones(deadheat: Deadheat) -> None:
    ended = deadheat("list", "--language", "cobol")
    assert "--language" in ended.err
    assert "cobol" in ended.err
    assert "python" in ended.hint.lower()


@pytest.mark.parametrize("no_color", ["1", ""])
def test_no_color_also_removes_bold(no_color: str, tmp_path: Path) -> None:
    """Regression: NO_COLOR removed the colors and left other escape sequences."""
    terminal, child = pty.openpty()
    command = [sys.executable, "-c", "from deadheat.cli import main; main()"]
    command += ["report", "--store", str(tmp_path / "none")]
    env = {**os.environ, "NO_COLOR": no_color}
    subprocess.run(command, stderr=child, env=env, timeout=60, check=False)
    assert (b"\x1b" in os.read(terminal, 65536)) is not bool(no_color)
    os.close(terminal)
    os.close(child)


@pytest.mark.parametrize(
    ("arguments", "symptom"),
    [
        (("--duration", "9" * 400 + "h"), "expected at most 7 days"),
        (("--budget", "169h"), "'169h': expected at most 7 days"),
        (("--connections", "1" + "0" * 30), "expected positive numbers"),
        (("--connections", "2000000"), "expected less than or equal to 1000000"),
        (("--connections", "\u00b2"), "expected positive numbers"),
        (("--connections", "9" * 5000), "expected positive numbers"),
        (("--repetitions", "1" + "0" * 30), "expected less than or equal to 1000000"),
        (("--duration-scale", "inf"), "--duration-scale inf: expected a number above 0"),
        (("--duration-scale", "nan"), "--duration-scale nan: expected a number above 0"),
        (("--duration-scale", "900", "--duration", "7m", "--budget", "100h"), "duration_s"),
    ],
)
@pytest.mark.parametrize("protocol", ["brief", "paper"])
def test_a_plan_has_finite_durations_and_possible_counts(
    deadheat: Deadheat, arguments: tuple[str, ...], symptom: str, protocol: str
) -> None:
    """Regression: `plan` accepted infinite durations and 10^30 connections."""
    ended = deadheat("plan", "hello", "--protocol", protocol, *arguments)
    if symptom == "duration_s":
        assert ended.code in (0, 2)
        assert "inf" not in ended.out
        return
    assert ended.code in (1, 2)
    assert symptom in ended.err.replace("\n", " ")


def test_rejects_a_seed_that_the_store_cannot_hold(deadheat: Deadheat) -> None:
    ended = deadheat("run", "hello", "--protocol", "brief", "--seed", "1" + "0" * 30)
    assert ended.code == 2
    assert "--seed" in ended.err


@pytest.mark.parametrize(
    ("words", "symptom"),
    [
        ("run --workers 4 -- true {port}", "--workers: expected a server of the catalog"),
        ("run --setting multicore --url http://[::1]:1/", "--setting: expected a server of the"),
        ("run --protocol paper --workers 4", "--workers: protocol paper says how its servers"),
        ("run hello --protocol paper --setting multicore", "--setting: protocol paper says how"),
        ("explain --setting multicore -- true {port}", "--setting: expected a server of the cat"),
        ("footprint --setting multicore -- true {port}", "--setting: expected a server of the ca"),
        ("verify --setting multicore -- true {port}", "--setting: expected a server of the catal"),
        ("verify --all --setting multicore", "--all and the setting multicore exclude"),
        ("verify hello:multicore --all", "--all and the setting multicore exclude each other"),
        ("run hello:multicore --protocol paper", "hello:multicore: protocol paper says how its"),
        ("run dies-mid-trial:at-once --transport http,h2", "--transport and the setting at-once"),
        ("verify hello --strict --transport https", "--strict reviews plain HTTP: omit"),
        ("verify hello --page checks", "--page checks: expected a name that ends in .md"),
        ("verify hello --insecure", "--insecure: expected --url https://..."),
        ("verify hello --cacert ca.pem", "--cacert: expected --url https://..."),
    ],
)
def test_bug_an_option_was_ignored(deadheat: Deadheat, words: str, symptom: str) -> None:
    ended = deadheat(*words.split())
    assert (ended.code, f"error: {symptom}" in ended.err) == (2, True), ended.err
