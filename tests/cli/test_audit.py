"""`deadheat run --protocol REPLAY`, `plan` of it, and `deadheat audit`, on real servers."""

import json
import sys
from pathlib import Path

import pytest

from deadheat.cli import audit
from deadheat.protocol import load_protocol
from tests.cli.conftest import Deadheat, rows
from tests.report.made import made_run
from tests.servers.contenders import CATALOG

BRIEF = ("--protocol", "paper", "--duration-scale", "0.1", "hello")


@pytest.fixture
def brief_run(home: Path) -> str:
    """The id of a stored run of protocol brief, which is not a replay."""
    home.mkdir()
    protocol = load_protocol(CATALOG, "brief").model_dump(mode="json")
    run = made_run(home / "runs.sqlite", protocol=protocol)
    run.race({"hello": 9000}, invocations=1, blocks=1)
    run.end()
    run.store.close()
    return run.run_id


def test_plan_of_a_replay_lists_every_trial_and_the_missing_rows(
    deadheat: Deadheat, home: Path
) -> None:
    plan = json.loads(deadheat("plan", "--protocol", "paper", "--json").out)
    assert [trial["repetition"] for trial in plan["trials"]] == [1, 2] * 3
    assert list(plan["missing"]) == ["Goodbye"]
    assert not home.exists()


def test_bug_a_plan_of_a_replay_left_out_the_own_server(deadheat: Deadheat) -> None:
    own = ("--name", "mine", "--", sys.executable, "{port}")
    plan = json.loads(deadheat("plan", "hello", "--protocol", "paper", "--json", *own).out)
    raced = dict.fromkeys(trial["contender"] for trial in plan["trials"])
    assert [*raced] == ["null-server", "hello", "mine"], "as a run of it"


def test_a_replay_is_labeled_and_audited(deadheat: Deadheat, home: Path, tmp_path: Path) -> None:
    ran = deadheat("run", *BRIEF)
    assert ran.ran
    label = "replay of paper, best of 2, scaled 0.1, client on the same host"
    assert label in ran.out
    text = deadheat("audit", "paper")
    assert text.code == 0
    assert label in text.out
    assert "1 of 3 published rows ran here" in text.out
    assert "Goodbye  " in text.out
    assert "Greeter 2  outlives-sigterm " in text.out
    document = json.loads(deadheat("audit", "paper", "--format", "json").out)
    (level,) = document["levels"]
    hello = level["lines"][0]
    assert hello["ratio"] == pytest.approx(hello["now_per_s"] / 12000)
    assert "best_of" in {defect["code"] for defect in document["defects"]}
    assert document["machine"][0]["seconds"]
    page = tmp_path / "page.md"
    assert deadheat("audit", "paper", "--format", "md", "-o", str(page)).code == 0
    assert page.read_text().startswith("# paper, then and now\n")
    assert "`deadheat audit paper --format md -o" in page.read_text()
    beside = deadheat("audit", "paper", "--against", document["run"])
    assert f"this replay and {document['run']}" in beside.out, beside.out


def test_import_audits_against_another_table(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    table = tmp_path / "blog.csv"
    table.write_text("row,connections,rate_per_s,precision,source\nHello 1.0,2,10,1,a blog\n")
    assert deadheat("run", *BRIEF).ran
    (run,) = rows(home, "SELECT id FROM run")
    ended = deadheat("audit", "--import", str(table), run["id"])
    assert ended.code == 0
    assert "blog, then and now" in ended.out
    table.write_text("row,connections,rate_per_s,precision,source\nHello 1.0,two,10,1,a blog\n")
    ended = deadheat("audit", "--import", str(table), run["id"])
    assert ended.code == 2
    assert f"{table}:2: connections: expected a number >= 1, got 'two'" in ended.err


def test_audit_without_a_stored_replay_says_how_to_run_it(
    deadheat: Deadheat, request: pytest.FixtureRequest
) -> None:
    assert "deadheat run --protocol paper" in deadheat("audit", "paper").hint
    request.getfixturevalue("brief_run")
    ended = deadheat("audit", "paper")
    assert "no run of paper is stored" in ended.err
    assert "deadheat run --protocol paper" in ended.hint


@pytest.mark.parametrize("stored", [True, False])
def test_audit_of_an_unknown_protocol_names_the_available_ones(
    deadheat: Deadheat, stored: bool, request: pytest.FixtureRequest
) -> None:
    """Regression: the hint was to run --protocol nosuch, and later it stood in for the symptom."""
    if stored:
        request.getfixturevalue("brief_run")
    ended = deadheat("audit", "nosuch")
    assert "error: NAME 'nosuch': no protocol has this name" in ended.err
    assert ended.hint.startswith("available: ")
    assert "paper" in ended.hint


def test_audit_of_an_imported_table_does_not_suggest_a_protocol(deadheat: Deadheat) -> None:
    imported = deadheat("audit", "--import", "blog.csv", "20261120")
    assert imported.code == 1
    assert "--protocol 20261120" not in imported.hint


def test_audit_rejects_a_run_of_another_protocol(deadheat: Deadheat, brief_run: str) -> None:
    """Regression: NAME was ignored if RUN was given."""
    ended = deadheat("audit", "paper", brief_run)
    assert ended.code == 2
    assert "is of protocol brief, not paper" in ended.err


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (("old.json", "new.json"), "new.json"),
        (("board.csv", "--beside", "theirs.deadheat"), "theirs.deadheat"),
        (("board.csv", "--beside", "b837", "--names", "names.csv"), "names.csv"),
        (("--import", "table.csv", "b837"), "table.csv"),
        (("board.csv", "--store", "mine.sqlite"), "mine.sqlite"),
    ],
)
def test_bug_an_audit_replaced_what_it_read(
    deadheat: Deadheat,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    read: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(read).write_text("mine")
    ended = deadheat("audit", *words, "-o", f"./{read}")
    assert ended.code == 2
    assert f"--output {read}: the command also uses this file" in ended.err
    assert Path(read).read_text() == "mine"


def test_bug_an_audit_quoted_its_command_without_quotes(
    deadheat: Deadheat, brief_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_page", lambda *_: None)
    monkeypatch.setattr(audit, "write", lambda page, format_, commands: " ".join(commands))
    ended = deadheat("audit", "--import", "a blog.csv", brief_run)
    assert ended.out == f"deadheat audit --import 'a blog.csv' {brief_run}"
