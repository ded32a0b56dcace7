"""`deadheat run` on real servers; most of them misbehave on purpose."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.cli.endings import ExitCode
from deadheat.cli.stored import warn_of_running_runs
from deadheat.host.local import LocalHost
from deadheat.load import find_engine
from deadheat.store import Store
from tests.cli.conftest import ONE_BY_ONE, Deadheat, rows, started
from tests.report.made import made_run
from tests.servers.contenders import CATALOG, PYTHON, running

BRIEF = ("--protocol", "brief")
RECOVERY = """
[recovery]
watch_s = 2
probe_s = 0.2
rate_share = 0.1
"""


def test_a_run_prints_its_table_and_where_it_is_stored(deadheat: Deadheat, home: Path) -> None:
    ended = deadheat("run", "hello", *BRIEF)
    assert ended.ran
    (run,) = rows(home, "SELECT id, state FROM run")
    assert run["state"] == "complete"
    markdown = home / "reports" / f"{run['id']}.md"
    assert "hello" in ended.out
    assert f"as Markdown:  {markdown}" in ended.out
    assert f"stored in:    {home / 'runs.sqlite'}  (run {run['id']})" in ended.out
    assert f"deadheat report {run['id'][-4:]}" in ended.out
    assert "hello" in markdown.read_text()
    assert "block 2, 1 contender racing" in ended.err
    assert rows(home, "SELECT state, count(*) AS n FROM trial GROUP BY state") == [
        {"state": "ok", "n": 2}
    ]


def test_a_failing_server_does_not_end_the_run(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.md"
    servers = ("dies-mid-trial", "exits-at-start", "hello")
    ended = deadheat("run", *servers, *BRIEF, "--duration", "1s", "-o", str(table))
    assert ended.ran
    contenders = rows(home, "SELECT name, fault FROM contender ORDER BY position")
    assert contenders == [
        {"name": "dies-mid-trial", "fault": None},
        {"name": "exits-at-start", "fault": "exits-at-start ended before it was ready (exit 1)"},
        {"name": "hello", "fault": None},
    ]
    (dead,) = rows(home, "SELECT DISTINCT reason FROM trial WHERE state = 'failed'")
    assert dead["reason"] == "dies-mid-trial died under load (exit 7)\nout of memory"
    assert rows(home, "SELECT count(*) AS n FROM trial WHERE state = 'ok'") == [{"n": 2}]
    assert "cannot read hello.conf" in ended.err
    for report in (ended.out, table.read_text()):
        assert "exits-at-start ended before it was ready (exit 1)" in report
        assert "died under load (exit 7)" in report


def test_json_is_the_only_standard_output(deadheat: Deadheat, home: Path) -> None:
    ended = deadheat("run", "hello", *BRIEF, "--workers", "1,2", "--seed", "7", "--json")
    document = json.loads(ended.out)
    (run,) = rows(home, "SELECT id, seed FROM run")
    assert run["seed"] == 7
    assert run["id"] in json.dumps(document)
    reported = json.loads(deadheat("report", run["id"], "--format", "json").out)
    assert document == reported, "regression: parts of the whole view were left out"
    assert rows(home, "SELECT name, workers FROM contender") == [
        {"name": "hello", "workers": 1},
        {"name": "hello:w2", "workers": 2},
    ]


def test_an_own_command_races_with_a_server_and_may_return_any_body(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    """Regression: the store rejected a command with the name of a server."""
    own = tmp_path / "hello"
    script = CATALOG / "servers" / "wrong-body" / "wrong_body.py"
    own.write_text(f"#!/bin/sh\nexec {' '.join(PYTHON)} {script} 127.0.0.1 $1\n")
    own.chmod(0o755)
    assert deadheat("run", "hello", *BRIEF, "--", str(own), "{port}").ran
    assert rows(home, "SELECT name, role, fault FROM contender") == [
        {"name": "hello", "role": "contender", "fault": None},
        {"name": "hello:own", "role": "contender", "fault": None},
    ]
    assert rows(home, "SELECT DISTINCT state FROM trial") == [{"state": "ok"}]


def test_an_interrupt_keeps_the_trials_and_names_the_report_command(
    deadheat: Deadheat, home: Path
) -> None:
    """SIGTERM and SIGHUP become an interrupt too: see test_endings.py."""
    # If the tests run in the background, SIGINT may be ignored; beside other tests, any number of
    # trials may be invalid.
    before = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from deadheat.campaign import failures; failures.TRIALS_MAX = {sys.maxsize}; "
    )
    arguments = ("run", "hello", *BRIEF, "--repetitions", "100000")
    with started(*arguments, before=before) as process:
        assert process.stderr is not None
        assert any("block 3" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    (run,) = rows(home, "SELECT id, state FROM run")
    assert run["state"] == "interrupted"
    assert "interrupted: what was measured is kept" in err
    assert f"deadheat report {run['id'][-4:]}" in out
    kept = rows(home, "SELECT count(*) AS n FROM trial WHERE state = 'ok'")
    assert kept[0]["n"] >= 2
    assert "hello" in deadheat("report", run["id"]).out


def test_a_decay_run_prints_the_decay_table(deadheat: Deadheat, tmp_path: Path) -> None:
    path = tmp_path / "one-by-one.toml"
    path.write_text(ONE_BY_ONE + RECOVERY)
    ended = deadheat("run", "hello", "--protocol", str(path))
    assert ended.ran
    assert "Decay and recovery" in ended.out
    assert "2 trials against one process" in ended.out
    assert "stored in:" in ended.out


@pytest.fixture
def running_url(tmp_path: Path) -> Iterator[str]:
    """The URL of a server that deadheat did not start."""
    with LocalHost() as host, running(host, "hello", tmp_path / "hello.log") as url:
        yield url


def test_a_running_server_is_measured_and_not_stopped(deadheat: Deadheat, running_url: str) -> None:
    ended = deadheat("run", "hello", *BRIEF, "--url", running_url, "--json")
    assert ended.ran
    contenders = json.loads(ended.out)["contenders"]
    (running_one,) = [row for row in contenders if row["name"] in running_url]
    assert running_one["fault"] is None
    again = deadheat("run", *BRIEF, "--url", running_url)
    assert again.ran, "the server was stopped"


def test_a_race_over_tls_and_http2_ranks_each_transport(deadheat: Deadheat, home: Path) -> None:
    server = [find_engine(), "--null-server", "{port}", "--cert", "{cert}", "--key", "{key}"]
    over = ("--transport", "https,h2", "--streams", "3")
    ended = deadheat("run", *BRIEF, *over, "--name", "mine", "--json", "--", *server)
    assert ended.ran, ended.err
    report = json.loads(ended.out)
    assert report["run"]["workloads"] == ["hello:https", "hello:h2"]
    assert [contender["name"] for contender in report["contenders"]] == ["mine"]
    measured = {level["workload"] for level in report["contenders"][0]["levels"]}
    assert measured == {"hello:https", "hello:h2"}
    costs = report["profile"]["transports"]  # of valid trials: a busy machine may have none
    assert all(
        (cost["name"], cost["workload"], cost["by"]) == ("mine", "hello:h2", "hello:https")
        for cost in costs
    )
    states = rows(home, "SELECT DISTINCT workload, state FROM trial WHERE kind = 'measure'")
    assert {(row["workload"], row["state"]) for row in states} == {
        ("hello:https", "ok"),
        ("hello:h2", "ok"),
    }


def test_rejects_a_url_that_does_not_respond(deadheat: Deadheat) -> None:
    ended = deadheat("run", *BRIEF, "--url", "http://127.0.0.1:9/")
    assert ended.code == 1
    assert "\nerror: http://127.0.0.1:9/: " in ended.err
    assert ended.hint.startswith("start it")


def test_warns_of_a_run_in_progress(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: two parallel runs disturbed each other, and neither reported the other."""
    home.mkdir()
    made = made_run(home / "runs.sqlite")
    with Store(home / "runs.sqlite", read_only=True) as store:
        warn_of_running_runs(store)
        assert f"run {made.run_id} is in progress" in capsys.readouterr().err
        made.end()
        warn_of_running_runs(store)
    assert capsys.readouterr().err == ""
