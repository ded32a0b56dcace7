"""Passwords in a command line stay in the store; no output and no bundle has them."""

import json
import lzma
from pathlib import Path

import pytest

from deadheat.foreign_text import without_secrets
from deadheat.store import Store, read_run
from deadheat.store.bundle import export_run
from tests.cli.conftest import Deadheat
from tests.report.made import SETTLE, MadeRun, made_run

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


def test_the_store_keeps_it_for_resume(run: MadeRun) -> None:
    with Store(run.store.path, read_only=True) as store:
        assert read_run(store, run.run_id, with_secrets=True).command == COMMAND
        assert "hunter2!" not in json.dumps(read_run(store, run.run_id).command)
