"""`deadheat resume` on real servers."""

import json
import re
import time
from pathlib import Path

import pytest

from deadheat.host.local import LocalHost
from tests.cli.conftest import ONE_BY_ONE, Deadheat, rows, short_race, started
from tests.report.made import MadeRun
from tests.servers.contenders import CATALOG, PYTHON, running

PLACES = "SELECT name, connections, block FROM trial JOIN contender ON contender.id = contender_id"


@pytest.fixture
def killed(home: Path, tmp_path: Path) -> str:
    """The id of a replay of two servers, killed after some of its eight trials."""
    path = tmp_path / "one-by-one.toml"
    path.write_text(ONE_BY_ONE)
    chosen = ("run", "hello", "outlives-sigterm", "--protocol", str(path))
    arguments = (*chosen, "--repetitions", "4", "--duration", "300ms")
    with started(*arguments) as process:
        assert process.stderr is not None
        assert any("hello: repetition 1" in line for line in process.stderr)
        while len(rows(home, PLACES)) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    (run,) = rows(home, "SELECT id, state FROM run")
    assert run["state"] == "running"
    return str(run["id"])


def test_resumes_a_killed_run(deadheat: Deadheat, home: Path, killed: str) -> None:
    before = rows(home, PLACES)
    assert len(before) < 8
    assert "process gone" in deadheat("report", "--list").out
    ended = deadheat("resume", killed[:12])
    assert ended.ran
    assert rows(home, PLACES)[: len(before)] == before
    assert sorted(tuple(row.values()) for row in rows(home, PLACES)) == [
        (name, 2, block) for name in ("hello", "outlives-sigterm") for block in (1, 2, 3, 4)
    ]
    (run,) = rows(home, "SELECT id, state, conclusion FROM run")
    assert (run["id"], run["state"]) == (killed, "complete")
    (resumed,) = json.loads(run["conclusion"])["resumed"]
    assert resumed["trials"] == len(before)
    resumption = rf"resumed \d{{4}}-.* after {len(before)} trials, with fresh processes"
    details = deadheat("report", killed, "-v").out
    assert re.search(resumption, details)
    assert "4 repetitions of each, one contender after the other, one process for all" in details
    again = deadheat("resume", killed)
    assert again.code == 1
    assert f"run {killed} is complete" in again.err


def test_bug_the_runtime_of_a_run_in_containers_was_refused_when_it_was_resumed(
    deadheat: Deadheat, run: MadeRun
) -> None:
    ended = deadheat("resume", run.run_id, "--runtime", "podman", "--isolate")
    assert "--runtime podman and --isolate exclude each other" in ended.err
    for options in (["--runtime", "podman"], ["--isolate"], ["--memory-limit", "1G"]):
        assert f"run {run.run_id} is complete" in deadheat("resume", run.run_id, *options).err


def test_without_a_run_the_last_one_is_meant(deadheat: Deadheat, run: MadeRun) -> None:
    """Only a run that has spent its budget can have more time: a settled one was offered it."""
    ended = deadheat("resume")
    assert (ended.code, f"run {run.run_id} is complete" in ended.err) == (1, True)
    assert ended.hint == "start a new run"
    run.end("complete", "budget spent")
    assert deadheat("resume").hint == (
        f"`deadheat resume {run.run_id[-4:]} --more 5m` gives it more time, or start a new run"
    )


def test_without_a_store_it_says_how_to_measure(deadheat: Deadheat) -> None:
    ended = deadheat("resume")
    assert (ended.code, "does not exist" in ended.err) == (1, True)
    assert ended.hint.startswith("measure with deadheat run")


# Fewer than ten trials: on a busy machine, ten invalid ones would end the race.
SPENT = short_race('kind = "settle", invocations = 2, margin = 0.0001, budget_s = 1')


def test_more_time_continues_a_run_that_spent_its_budget(
    deadheat: Deadheat, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another folder: a relative --catalog was taken as one of the folder of `resume`."""
    protocol = tmp_path / "short.toml"
    protocol.write_text(SPENT)
    monkeypatch.delenv("DEADHEAT_CATALOG")
    monkeypatch.chdir(CATALOG.parent)
    choice = ("hello", "outlives-sigterm", "--catalog", CATALOG.name)
    assert deadheat("run", *choice, "--protocol", str(protocol)).ran
    monkeypatch.chdir(tmp_path)
    before, starts = rows(home, PLACES), rows(home, "SELECT id FROM instance")
    (run,) = rows(home, "SELECT id, state, conclusion FROM run")
    assert (run["state"], json.loads(run["conclusion"])["why"]) == ("complete", "budget spent")
    ended = deadheat("resume", run["id"][-4:], "--more", "1s")
    assert ended.ran, ended.err
    (after,) = rows(home, "SELECT id, state, conclusion FROM run")
    assert (after["id"], after["state"]) == (run["id"], "complete")
    (extension,) = json.loads(after["conclusion"])["resumed"]
    assert (extension["more_s"], extension["trials"]) == (1, len(before))
    assert rows(home, PLACES)[: len(before)] == before
    assert len(rows(home, "SELECT id FROM instance")) > len(starts)
    assert "given 1 s more on 20" in deadheat("report", run["id"], "-v").out


OWN = ("--", *PYTHON, str(CATALOG / "servers" / "hello" / "hello.py"), "127.0.0.1", "{port}")


def test_bug_a_race_of_own_servers_could_not_go_on(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    protocol = tmp_path / "short.toml"
    protocol.write_text(SPENT.replace("budget_s = 1", "budget_s = 4"))
    with LocalHost() as host, running(host, "hello", tmp_path / "log") as url:
        choice = ("hello", "--url", url, "--path", "/?a=1", "--protocol", str(protocol), *OWN)
        assert deadheat("run", *choice).ran
        before = rows(home, PLACES)
        starts = "SELECT command FROM instance JOIN contender c ON c.id = contender_id"
        own = f"{starts} WHERE c.name LIKE 'python%'"
        own_before = rows(home, own)
        (run,) = rows(home, "SELECT id FROM run")
        ended = deadheat("resume", run["id"][-4:], "--more", "8s")
    assert ended.ran, ended.err
    assert rows(home, PLACES)[: len(before)] == before
    assert len(rows(home, own)) > len(own_before) > 0
    (kept,) = rows(home, "SELECT manifest FROM contender WHERE name LIKE 'python%'")
    assert json.loads(kept["manifest"])["path"] == "/?a=1"
