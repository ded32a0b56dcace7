"""`deadheat regress` on a real repository of two revisions."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deadheat.campaign import failures
from deadheat.campaign.campaign import Plan
from deadheat.cli import regress
from deadheat.cli.endings import ExitCode
from deadheat.cli.regress import EXIT_CODES
from deadheat.errors import Unmeasurable
from deadheat.measure.world import World
from deadheat.stats.ranking.change import Outcome
from deadheat.store import Store
from tests.campaign.test_revision import git
from tests.cli.conftest import Deadheat
from tests.cli.test_suggestions import suggested, type_all
from tests.report.made import MadeRun, failed
from tests.servers.contenders import CATALOG, PYTHON

HELLO = (CATALOG / "servers/hello/hello.py").read_text()
SLOWER = HELLO.replace("import sys\n", "import sys\nimport time\n").replace(
    "        self.end_headers()\n", "        self.end_headers()\n        time.sleep(0.02)\n"
)
RACE = ("--protocol", "brief", "--invocations", "3", "--repetitions", "9", "--duration", "100ms")
START = ("--", *PYTHON, "made.py", "127.0.0.1", "{port}")
BUILD = "cp server.py made.py"


def tagged(folder: Path, name: str, **texts: str) -> Path:
    """A repository of one file, with a commit for each of its texts and a tag for each commit."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for tag, text in texts.items():
        (folder / name).write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", tag)
        git(folder, "tag", tag)
    return folder


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three commits with the tags `good`, `same` (as fast) and `slower`."""
    texts = {"good": HELLO, "same": f"{HELLO}# same\n", "slower": SLOWER}
    folder = tagged(tmp_path / "repository", "server.py", **texts)
    monkeypatch.chdir(folder)
    return folder


def test_a_slowdown_does_not_pass_and_all_outputs_agree(
    deadheat: Deadheat, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INCONCLUSIVE is possible, because gates may fail on a busy machine."""
    monkeypatch.setattr(failures, "TRIALS_MAX", sys.maxsize)  # or the race may end early
    comment, junit = tmp_path / "comment.md", tmp_path / "junit.xml"
    files = ("--comment", str(comment), "--junit", str(junit))
    ended = deadheat("regress", "--base", "good", "--build", BUILD, *RACE, *files, "--json", *START)
    document = json.loads(ended.out)
    assert document["outcome"] in ("FAIL", "INCONCLUSIVE")
    of_outcome = EXIT_CODES[Outcome[document["outcome"]]]
    assert ended.code == (ExitCode.UNMEASURABLE if document["why"] else of_outcome)
    assert comment.read_text().startswith(f"### deadheat: {document['outcome']}\n")
    suite = ElementTree.parse(junit).getroot()
    fails, skips = int(suite.get("failures", "")), int(suite.get("skipped", ""))
    assert (fails, skips) == ((1, 0) if document["outcome"] == "FAIL" else (0, 1))


def invalid_race(plan: Plan, store: Store) -> MadeRun:
    run = MadeRun(store)
    names = [contender.name for contender in plan.extra]
    run.race(dict.fromkeys(names, 1000), blocks=2, gates_of=dict.fromkeys(names, failed()))
    return run


def test_a_race_without_a_valid_trial_still_prints_its_document(
    deadheat: Deadheat, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: with exit code 5, `--json` printed nothing and `--junit` wrote nothing."""

    def stopped(plan: Plan, world: World, store: Store, *_: object) -> str:
        run = invalid_race(plan, store)
        run.end("failed")
        error = Unmeasurable("the last 10 trials were all invalid", "close other programs")
        error.run_id = run.run_id
        raise error

    monkeypatch.setattr(regress, "conduct", stopped)
    junit = tmp_path / "junit.xml"
    words = ("--base", "good", "--junit", str(junit), "--json", *RACE, *START)
    ended = deadheat("regress", *words)
    document = json.loads(ended.out)
    assert ended.code == ExitCode.UNMEASURABLE
    assert (document["outcome"], document["why"]) == (
        "INCONCLUSIVE",
        "the last 10 trials were all invalid",
    )
    assert document["fix"] == ended.hint == "close other programs"
    assert "valid" in document["levels"][0]["why"]
    assert ElementTree.parse(junit).getroot().get("skipped") == "1"


def test_a_budget_spent_without_a_valid_trial_is_unmeasurable(
    deadheat: Deadheat, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a noisy time, a race goes on until its budget is spent."""

    def spent(plan: Plan, world: World, store: Store, *_: object) -> str:
        return invalid_race(plan, store).end(why="budget spent")

    monkeypatch.setattr(regress, "conduct", spent)
    ended = deadheat("regress", "--base", "good", "--json", *RACE, *START)
    assert ended.code == ExitCode.UNMEASURABLE
    why = json.loads(ended.out)["why"]
    assert why == "No ranking: none of 12 trials is valid, 12 failed the check steal"


def test_a_revision_is_built_only_once(deadheat: Deadheat, repository: Path, home: Path) -> None:
    options = ("--base", "good", "--head", "same", "--build", BUILD, "--protocol", "brief")
    first, again = (deadheat("regress", *options, *START) for _ in range(2))
    assert first.err.count("building") == 2
    assert again.err.count("building") == 0
    assert re.search(r"^full report: deadheat report \w{4}$", again.out, re.M)
    type_all(deadheat, suggested(again.out, again.err))


@pytest.mark.parametrize(
    ("options", "symptom"),
    [
        (("--base", "nothing"), "--base nothing: no such revision"),
        (("--base", "good", "--head", "none"), "--head none: no such revision"),
        (("--base", "slower"), "--base slower and --head HEAD are the same commit"),
        (("--base", "good", "--build", "echo broken; exit 7"), "  | broken"),
    ],
)
def test_rejects_revisions_that_cannot_race(
    deadheat: Deadheat, repository: Path, options: tuple[str, ...], symptom: str
) -> None:
    ended = deadheat("regress", *options, *RACE, *START)
    assert ended.code == (1 if "--build" in options else 2)
    assert symptom in ended.err


def test_rejects_a_folder_outside_a_repository(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    ended = deadheat("regress", "--base", "good", *RACE, *START)
    assert ended.code == 1
    assert "cannot be read as a git repository" in ended.err
