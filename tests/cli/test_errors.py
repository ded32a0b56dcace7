"""Errors that are reported before anything is measured."""

import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deadheat.cli.endings import ExitCode
from tests.cli.conftest import HERE, Deadheat, short_race
from tests.cli.test_workloads import ITEMS


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


OWN = "sh -c true {port}"
REFUSED = f"""
run hello --connections 10,many  |  '10,many': expected positive numbers such as 10,100,1000
run hello --connections 0  |  '0': expected positive numbers
run hello --connections {10**30}  |  expected positive numbers
run hello --connections ²  |  expected positive numbers
plan hello --protocol brief --connections 2000000  |  expected less than or equal to 1000000
run hello --workers -1  |  '-1': expected positive numbers
run hello --margin 0.03  |  '0.03': expected a percentage above 0 and below 50, such as 3%
run hello --margin 50%  |  '50%': expected a percentage
run hello --repetitions 0  |  '0': expected a whole number of at least 1
plan hello --protocol paper --repetitions {10**30}  |  expected less than or equal to 1000000
run hello --seed {10**30}  |  expected a whole number from 0 to 9223372036854775807
run hello --generator siege  |  'siege' is not one of 'engine', 'wrk', 'ab'
run hello --memory-limit 4  |  '4': expected a size such as 64K, 512M or 4G
run hello --memory-limit 4X  |  '4X': expected a size
run hello --memory-limit 0M  |  '0M': expected a size
run hello --memory-limit=-1G  |  '-1G': expected a size
run hello --memory-limit 1e9G  |  '1e9G': expected a size
run hello --memory-limit nanG  |  'nanG': expected a size
run hello --rate 1000,x  |  'x': expected requests/s or shares below 100%
run hello --wait-quiet=soon  |  'soon': expected a duration
run --wait-quiet no-such-server  |  unknown server 'no-such-server'
resume x --more 0s  |  '0s': expected a duration
plan hello --duration-scale inf  |  --duration-scale inf: expected a number above 0
plan hello --duration-scale nan  |  --duration-scale nan: expected a number above 0
plan hello --duration-scale 1000000  |  --duration-scale 1e+06: expected a number above 0
run --body /dev/zero --url http://127.0.0.1:1/  |  --body /dev/zero: expected a regular file
run hello --protocol paper --latency  |  --latency: protocol paper measures nothing but its
run hello --protocol brief --generator ab  |  --generator ab: protocol brief needs our engine
run hello --protocol brief --generator wrk  |  deadheat run --protocol kzmake-2018 --generator wrk
plan hello --protocol brief --budget 1m  |  --budget: protocol brief ends after 2 repetitions
run go-gin --catalog REPO --protocol capacity  |  --protocol capacity: it searches for a rate
plan hello --protocol bad.toml  |  bad.toml:1: kind: missing
run hello --workload bad.toml  |  bad.toml:2: requests: expected an array
cluster run hello --protocol paper  |  paper: its kind is 'alone', and here it has to be 'slices'
cluster run bun-serve --shared apache-static --workload json --catalog REPO  |  --shared apache
board race hello --protocol settel  |  --protocol settel: no file
board race --shared hallo  |  unknown server 'hallo' in
board race hello --protocol short.toml  |  expected the transport http
run -- ./my-server 8080  |  `./my-server 8080` has no {{port}}
run -- no-such-program {{port}}  |  no program 'no-such-program': not found on PATH
run -- ./my-server {{port}}  |  no program './my-server': not in /
run -- /etc/passwd {{port}}  |  no program '/etc/passwd': it cannot be executed
regress --base good --protocol brief  |  missing start command
run --url ftp://127.0.0.1/  |  missing http:// or https://
run --url http://127.0.0.1:x/  |  expected a port from 1 to 65535
run --url 127.0.0.1:80  |  missing http://
run --url http://me:secret@127.0.0.1/  |  --url: user name or password
list --catalog .  |  no servers/ in /
list --language cobol  |  --language: no server is written in 'cobol'
list --language cobol  |  hint: available: bun, c, c++
verify  |  missing argument SERVERS
verify  |  --all builds and starts every server
explain  |  no server to explain
run --workers 4 -- {OWN}  |  --workers: expected a server of the catalog
run --setting multicore --url http://[::1]:1/  |  --setting: expected a server of the
run --protocol paper --workers 4  |  --workers: protocol paper says how its servers
run hello --protocol paper --setting multicore  |  --setting: protocol paper says how
run hello:multicore --protocol paper  |  hello:multicore: protocol paper says how its
run hello --transport h2  |  --transport h2: none of the chosen servers
verify hello --transport h2  |  --transport h2: none of the chosen servers
run hello --transport http,tls  |  'http,tls': expected http, https, h2 or
run hello --transport h2 --streams 3 --close  |  a connection per request has one stream
run hello --transport https --protocol woo-2016  |  a replay has plain HTTP
run hello --streams 3  |  expected the transport h2 or h2c
run hello --tls-key rsa  |  expected the transport https or h2
run go-net-http --catalog REPO --setting h2  |  go-net-http:h2: h2 is a transport
capacity hello --url https://127.0.0.1:1/  |  --transport http,https: these servers need both
run dies-mid-trial:at-once --transport http,h2  |  --transport and the setting at-once
explain --setting multicore -- {OWN}  |  --setting: expected a server of the catalog
footprint --setting multicore -- {OWN}  |  --setting: expected a server of the catalog
verify --setting multicore -- {OWN}  |  --setting: expected a server of the catalog
verify --all --setting multicore  |  --all and the setting multicore exclude each other
verify hello:multicore --all  |  --all and the setting multicore exclude each other
verify hello --strict --transport https  |  --strict reviews plain HTTP: omit
verify hello --page checks  |  --page checks: expected a name that ends in .md
verify hello --insecure  |  --insecure: expected --url https://...
verify hello --cacert ca.pem  |  --cacert: expected --url https://...
verify --url http://127.0.0.1:1/ --freeze  |  --freeze: it is about servers of the catalog
verify hello --strict --server-host far --load-host 1.2.3.4  |  reviews a server without a network
verify hello --strict --server-host far --server-address 1.2.3.4  |  reviews a server without
verify hello --server-host far --isolate  |  --isolate: an isolated network does not reach another
run hello --server-host far --isolate  |  --isolate: an isolated network does not reach another
run --isolate --url http://127.0.0.1:1/  |  --isolate: a server that runs already
run hello --runtime podman --isolate  |  --runtime podman and --isolate exclude each other
run hello --runtime podman --install  |  --runtime podman and --install exclude each other
run hello --runtime podman --load-host lab  |  --runtime podman and --load-host exclude each other
run hello --runtime podman --server-host lab --load-host . --load-host far  |  --server-host exclude
verify hello --runtime podman --strict  |  --runtime podman and --strict exclude each other
verify hello --runtime podman --load-host lab  |  podman and --load-host exclude each other
capacity hello --runtime podman --server-host lab  |  podman and --server-host exclude each other
capacity hello --runtime podman --load-host lab  |  docs/containers.md says what containers can do
run hello --base-image localhost/debian:12  |  --base-image: expected --runtime podman or
regress --base main --runtime podman  |  --runtime podman: expected none, because --build
regress --base main --base-image podman  |  and both run natively
calibrate --runtime podman  |  the null server, which always runs natively
calibrate --base-image podman  |  hint: omit it
run --workload items.toml hello  |  --workload items: none of the chosen servers answers it: hello
run --workload items.toml --generator wrk -- {OWN}  |  --generator wrk: protocol settle needs our
run --workload items.toml --path /a -- {OWN}  |  --path and --workload items exclude each other
run --workload items.toml --any-body -- {OWN}  |  --any-body and --workload items exclude each other
run --workload items.toml --url http://[::1]:1/a  |  expected no path with --workload items
run --workload hello.toml hello  |  its name is that of the default workload
plan go-gin --catalog REPO --workload hello,  |  --workload 'hello,': expected names or files
plan go-gin --catalog REPO --workload hello,rout  |  no workload 'rout'
capacity go-gin --catalog REPO --workload hello,route  |  a search for capacity takes one workload
explain go-gin --catalog REPO --workload hello,route  |  explain takes one workload at one level
run -H 'Authorization: ***' -- {OWN}  |  *** stands for a password, which no output shows
run -- ./server --api-key *** {{port}}  |  *** stands for a password, which no output shows
run --command './server --db postgres://u:***@host/x'  |  hint: type it in place of ***
new mine  |  give --like SERVER, or --hello go|node|python
new mine --like hello --hello go  |  give --like SERVER, or --hello
new 'My Server' --like hello  |  use lower-case letters
new mine --like helo  |  did you mean hello
new mine --like 'wrong-*'  |  choose one: wrong-body, wrong-media-type
resume x hello  |  unexpected extra argument (hello)
resume x --nonsense  |  No such option '--nonsense'
resume x --seed 3  |  --seed would change the run
resume x -c 10  |  -c would change the run
resume x --path /items  |  --path would change the run
resume x --more 1m --connections 3  |  hint: omit it, or start a new run
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "bad.toml").write_text('name = "bad"\nrequests = 3\n')
    (folder / "items.toml").write_text(ITEMS)
    (folder / "hello.toml").write_text(ITEMS.replace('"items"', '"hello"'))
    race = short_race('kind = "fixed", repetitions = 4')
    (folder / "short.toml").write_text(f'transports = ["https"]\n{race}')
    return folder


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_a_line_that_cannot_be_is_refused_before_anything_starts(
    deadheat: Deadheat, files: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Most of these options were once ignored, or reported after everything had been measured."""
    monkeypatch.chdir(files)
    words, _, said = line.partition("  |  ")
    ended = deadheat(*shlex.split(words.replace("REPO", str(HERE))))
    assert (ended.code, ended.out, said in ended.err) == (ExitCode.USAGE, "", True), ended.err
    assert ended.hint or ".toml:" in ended.err, "a file needs no other hint than its line"
    assert [word for word in ("starting", "building", "secret") if word in ended.err] == []


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
