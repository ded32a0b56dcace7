"""Passwords in a command line stay in the store; no output and no bundle has them."""

import json
import lzma
from pathlib import Path

import pytest

from deadheat.foreign_text import without_secrets
from deadheat.store import Store, read_run
from deadheat.store.bundle import export_run
from deadheat.store.listing import run_ids
from tests.cli.conftest import Deadheat
from tests.cli.test_resume import OWN, SPENT
from tests.report.made import SETTLE, MadeRun, failed, made_run

SECRETS = ("hunter2!", "s3cr3t,key", "Bearer abc.def")
COMMAND = (
    *("deadheat", "run", "-H", "Authorization: Bearer abc.def", "--", "./server", "{port}"),
    *("--db", "postgres://u:hunter2!@host/x", "--api-key", "s3cr3t,key"),
)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--db", "postgres://u:p@host/x"], ["--db", "postgres://u:***@host/x"]),
        (["redis://:a@b@host:1/2"], ["redis://:***@host:1/2"]),
        (["jdbc://h/x?user=u&password=p&ssl=1"], ["jdbc://h/x?user=u&password=***&ssl=1"]),
        (["--password", "p", "--port", "{port}"], ["--password", "***", "--port", "{port}"]),
        (["--db-pass=p", "--bypass=x"], ["--db-pass=***", "--bypass=x"]),
        (["env", "DB_PASSWORD=p", "./s"], ["env", "DB_PASSWORD=***", "./s"]),
        (["-H", "X-Api-Key: p q"], ["-H", "X-Api-Key: ***"]),
        (["./s --token p --port {port}"], ["./s --token *** --port {port}"]),
        (["sh", "-c", "SECRET='p' ./s"], ["sh", "-c", "SECRET='***' ./s"]),
        (["--url", "http://127.0.0.1:80/a@b"], ["--url", "http://127.0.0.1:80/a@b"]),
    ],
)
def test_hides_what_looks_like_a_password(words: list[str], shown: list[str]) -> None:
    assert without_secrets(words)[0] == tuple(shown)


@pytest.fixture
def run(home: Path) -> MadeRun:
    """A run of an own server whose command has passwords, which its log repeats."""
    home.mkdir()
    request = {"path": "/", "headers": {"Authorization": "Bearer abc.def"}}
    protocol = {**SETTLE, "workloads": [{"name": "request", "requests": [request]}]}
    run = made_run(home / "runs.sqlite", command=COMMAND, protocol=protocol)
    own = {"command": [*COMMAND[5:]], "compiler": "jit"}
    run.contender("server", manifest=own)
    run.race({"server": 9000}, workload="request")
    run.start("server", command=[*COMMAND[5:]], log_tail="connected as hunter2!")
    run.end()
    return run


@pytest.mark.parametrize("format_", ["terminal", "md", "json", "csv", "html"])
def test_bug_reports_showed_the_password_of_a_start_command(
    deadheat: Deadheat, run: MadeRun, format_: str
) -> None:
    shown = deadheat("report", run.run_id, "-v", "--format", format_)
    assert shown.code == 0, shown.err
    assert [secret for secret in SECRETS if secret in shown.out] == []


def test_bug_a_bundle_had_the_password_of_a_start_command(run: MadeRun, tmp_path: Path) -> None:
    export_run(run.store, run.run_id, tmp_path / "x.deadheat")
    with lzma.open(tmp_path / "x.deadheat") as bundle:
        plain = bundle.read()
    assert [secret for secret in SECRETS if secret.encode() in plain] == []
    assert b"postgres://u:***@host/x" in plain


def test_a_file_has_the_header_that_no_command_shows(
    deadheat: Deadheat, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suggested command can be typed: it has the file. The value is masked as well."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headers").write_text("Authorization: Bearer abc.def\n\nX-Trace: on\n")
    (tmp_path / "short.toml").write_text(SPENT.replace("budget_s = 1", "budget_s = 4"))
    ended = deadheat("run", *("-H", "@headers"), *("--protocol", "short.toml"), *OWN)
    assert ended.ran, ended.err
    (markdown,) = (home / "reports").iterdir()
    shown = deadheat("report", "-v", "--format", "json").out
    for text in (ended.out, ended.err, markdown.read_text(), shown):
        assert "abc.def" not in text
        assert "in place of ***" not in text
    with Store(home / "runs.sqlite", read_only=True) as store:
        (run_id,) = run_ids(store)
        whole = read_run(store, run_id, with_secrets=True)
        assert whole.command[2:4] == ("-H", "@headers")
        (request,) = whole.protocol.workloads[0].requests
        assert request.headers == {"Authorization": "Bearer abc.def", "X-Trace": "on"}
        export_run(store, run_id, tmp_path / "x.deadheat")
    with lzma.open(tmp_path / "x.deadheat") as bundle:
        assert b"abc.def" not in bundle.read()


def test_a_file_of_headers_with_another_line_is_rejected_without_showing_it(
    deadheat: Deadheat, tmp_path: Path
) -> None:
    path = tmp_path / "headers"
    path.write_text("X-Trace: on\nabc.def\n")
    ended = deadheat("run", "-H", f"@{path}", *OWN)
    assert f"{path}:2: expected NAME: VALUE" in ended.err
    assert "abc.def" not in ended.err
    missing = deadheat("run", "-H", "@nowhere", *OWN)
    assert "--header nowhere: No such file or directory" in missing.err


def test_a_report_says_that_the_password_is_left_out_of_its_commands(
    deadheat: Deadheat, run: MadeRun
) -> None:
    """Nothing was valid: the suggested race has the run's own command."""
    own = {"command": [*COMMAND[5:]], "compiler": "jit"}
    race = MadeRun(run.store, command=COMMAND)
    for name in ("server", "other"):
        race.contender(name, manifest=own)
        race.trial(name, 900.0, gates=failed())
    race.end()
    shown = deadheat("report", race.run_id).out
    assert "'Authorization: ***'" in shown
    assert "type the password in place of ***: no output shows it" in shown


def test_bug_a_bundle_and_a_report_had_the_headers_of_the_load(
    run: MadeRun, tmp_path: Path
) -> None:
    """The command of the load engine has them in a JSON, where no option names them."""
    request = json.dumps({"headers": {"Authorization": "Bearer abc.def"}})
    again = MadeRun(run.store, command=COMMAND)
    again.contender("server")
    again.trial("server", 900.0, command=["deadheat-load", "--workload", request])
    again.end()
    export_run(run.store, again.run_id, tmp_path / "x.deadheat")
    with lzma.open(tmp_path / "x.deadheat") as bundle:
        assert b"abc.def" not in bundle.read()
    with Store(run.store.path, read_only=True) as store:
        (trial,) = read_run(store, again.run_id).trials
    assert trial.command == (
        "deadheat-load",
        "--workload",
        request.replace("Bearer abc.def", "***"),
    )


def test_the_store_keeps_it_for_resume(run: MadeRun) -> None:
    with Store(run.store.path, read_only=True) as store:
        assert read_run(store, run.run_id, with_secrets=True).command == COMMAND
        assert "hunter2!" not in json.dumps(read_run(store, run.run_id).command)
