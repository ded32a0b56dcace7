"""`deadheat run` on real servers, most of which misbehave on purpose."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.workbench import tell_others
from deadheat.host.local import LocalHost
from deadheat.load import find_engine
from deadheat.store import Store
from tests.cli.conftest import Deadheat
from tests.report.made import made_run
from tests.servers.contenders import CATALOG, PYTHON, running

HERE = Path(__file__).resolve().parents[2]
BRIEF = ("--protocol", "brief")


def rows(home: Path, query: str) -> list[dict[str, Any]]:
    with Store(home / "runs.sqlite", read_only=True) as store:
        return store.rows(query)


def test_a_run_ends_with_a_table_a_file_and_where_everything_is(
    deadheat: Deadheat, home: Path
) -> None:
    ended = deadheat("run", "hello", *BRIEF)
    assert ended.code == 0
    (run,) = rows(home, "SELECT id, state FROM run")
    assert run["state"] == "complete"
    markdown = home / "reports" / f"{run['id']}.md"
    assert "hello" in ended.out
    assert f"the table as Markdown: {markdown}" in ended.out
    assert f"everything is stored:  {home / 'runs.sqlite'}  (run {run['id']})" in ended.out
    assert f"see it again:          deadheat report {run['id']}" in ended.out
    assert "hello" in markdown.read_text()
    assert "invocation 1, block 2" in ended.err
    assert rows(home, "SELECT state, count(*) AS n FROM trial GROUP BY state") == [
        {"state": "ok", "n": 2}
    ]


def test_what_goes_wrong_with_one_does_not_end_the_run(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.md"
    ended = deadheat("run", "dies-mid-trial", "exits-at-start", "hello", *BRIEF, "-o", str(table))
    assert ended.code == 0
    contenders = rows(home, "SELECT name, fault FROM contender ORDER BY position")
    assert contenders == [
        {"name": "dies-mid-trial", "fault": None},
        {"name": "exits-at-start", "fault": "exits-at-start ended before it was ready (exit 1)"},
        {"name": "hello", "fault": None},
    ]
    (dead,) = rows(home, "SELECT reason FROM trial WHERE state = 'failed'")
    assert dead["reason"] == "dies-mid-trial died under load (exit 7)\nout of memory"
    assert rows(home, "SELECT count(*) AS n FROM trial WHERE state = 'ok'") == [{"n": 2}]
    assert "cannot read hello.conf" in ended.err
    for report in (ended.out, table.read_text()):
        assert "exits-at-start ended before it was ready (exit 1)" in report
        assert "died under load (exit 7)" in report


def test_its_json_is_all_that_is_printed(deadheat: Deadheat, home: Path) -> None:
    ended = deadheat("run", "hello", *BRIEF, "--workers", "1,2", "--seed", "7", "--json")
    told = json.loads(ended.out)
    (run,) = rows(home, "SELECT id, seed FROM run")
    assert run["seed"] == 7
    assert run["id"] in json.dumps(told)
    again = json.loads(deadheat("report", run["id"], "--format", "json").out)
    assert told == again, "regression: what only the whole view reads was left out"
    assert rows(home, "SELECT name, workers FROM contender") == [
        {"name": "hello", "workers": 1},
        {"name": "hello:w2", "workers": 2},
    ]


def test_a_command_of_the_users_runs_beside_a_server_and_answers_as_it_likes(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    """Regression: named like the server, it was refused by the store."""
    own = tmp_path / "hello"
    script = CATALOG / "servers" / "wrong-body" / "wrong_body.py"
    own.write_text(f"#!/bin/sh\nexec {' '.join(PYTHON)} {script} 127.0.0.1 $1\n")
    own.chmod(0o755)
    assert deadheat("run", "hello", *BRIEF, "--", str(own), "{port}").code == 0
    assert rows(home, "SELECT name, role, fault FROM contender") == [
        {"name": "hello", "role": "contender", "fault": None},
        {"name": "hello:own", "role": "contender", "fault": None},
    ]
    assert rows(home, "SELECT DISTINCT state FROM trial") == [{"state": "ok"}]


def test_an_interrupt_keeps_what_was_measured_and_says_how_to_see_it(
    deadheat: Deadheat, home: Path
) -> None:
    # A test run in the background may hand down an ignored SIGINT.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from deadheat.cli import main; main()"
    )
    arguments = ("run", "hello", *BRIEF, "--repetitions", "100000")
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": str(HERE / "src"),
            "DEADHEAT_LOAD": find_engine(),
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert any("block 3" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    (run,) = rows(home, "SELECT id, state FROM run")
    assert run["state"] == "interrupted"
    assert "interrupted: what was measured is kept" in err
    assert f"deadheat report {run['id']}" in out
    kept = rows(home, "SELECT count(*) AS n FROM trial WHERE state = 'ok'")
    assert kept[0]["n"] >= 2
    assert "hello" in deadheat("report", run["id"]).out


def test_a_decay_study_ends_with_its_table(deadheat: Deadheat, tmp_path: Path) -> None:
    protocol = (CATALOG / "protocols" / "brief.toml").read_text()
    protocol = protocol.replace('name = "brief"', 'name = "tiring"').replace(
        "controls = false", 'controls = false\nresidency = "alone"'
    )
    path = tmp_path / "tiring.toml"
    path.write_text(protocol + "\n[recovery]\nwatch_s = 2\nprobe_s = 0.2\nrate_share = 0.1\n")
    ended = deadheat("run", "hello", "--protocol", str(path))
    assert ended.code == 0
    assert "Decay and recovery" in ended.out
    assert "2 trials against one process" in ended.out
    assert "see it again:" in ended.out


@pytest.fixture
def running_url(tmp_path: Path) -> Iterator[str]:
    """A server that somebody else has started."""
    with LocalHost() as host, running(host, "hello", tmp_path / "hello.log") as url:
        yield url


def test_a_server_that_runs_already_is_measured_and_left_alone(
    deadheat: Deadheat, running_url: str
) -> None:
    ended = deadheat("run", "hello", *BRIEF, "--url", running_url, "--json")
    assert ended.code == 0
    (theirs,) = [one for one in json.loads(ended.out)["contenders"] if one["name"] in running_url]
    assert theirs["fault"] is None
    assert "runs already: it keeps its CPUs" in ended.err
    again = deadheat("run", *BRIEF, "--url", running_url)
    assert again.code == 0, "it still runs"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://127.0.0.1/", "expected an http address"),
        ("http://127.0.0.1:x/", "expected an http address"),
        ("127.0.0.1:80", "expected an http address"),
    ],
)
def test_a_url_that_is_none_is_told(deadheat: Deadheat, url: str, told: str) -> None:
    ended = deadheat("run", *BRIEF, "--url", url)
    assert ended.code == 1
    assert told in ended.err


def test_a_url_where_nothing_answers_is_told(deadheat: Deadheat) -> None:
    ended = deadheat("run", *BRIEF, "--url", "http://127.0.0.1:9/")
    assert ended.code == 1
    assert ended.err.startswith("error: http://127.0.0.1:9/: nothing answers there")
    assert "way out: start it first" in ended.err


def test_heats_run_on_real_servers_with_the_canaries_in_each(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    protocol = (CATALOG / "protocols" / "brief.toml").read_text()
    protocol = protocol.replace('name = "brief"', 'name = "heats"').replace(
        "controls = false", "controls = true\nat_once = 1"
    )
    path = tmp_path / "heats.toml"
    path.write_text(protocol)
    ended = deadheat("run", "hello", "--workers", "1,2", "--protocol", str(path))
    assert ended.code == 0
    assert rows(home, "SELECT DISTINCT state FROM trial") == [{"state": "ok"}]
    query = """
        SELECT name, group_concat(DISTINCT heat) AS heats FROM trial
        JOIN contender ON contender.id = contender_id GROUP BY name ORDER BY name
    """
    heats = {row["name"]: row["heats"] for row in rows(home, query)}
    assert sorted([heats["hello"], heats["hello:w2"]]) == ["1", "2"]
    assert heats["null-server"] == heats["reference"] == "1,2"


def test_a_run_under_way_is_told_to_the_next(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: two runs at once, and neither was told why everything was in doubt."""
    home.mkdir()
    made = made_run(home / "runs.sqlite")
    with Store(home / "runs.sqlite", read_only=True) as store:
        tell_others(store)
        assert f"run {made.run_id} is under way" in capsys.readouterr().err
        made.end()
        tell_others(store)
    assert capsys.readouterr().err == ""
