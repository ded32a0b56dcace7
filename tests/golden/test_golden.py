"""Every output that a user reads is as its golden file says, word for word.

Where a change is meant: `uv run pytest tests/golden --accept` (or `make accept`), and read the
difference in git before committing it.
"""

import difflib
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import made_once
from tests.golden.command_line import CommandLine, Output
from tests.golden.commands import COMMANDS
from tests.golden.measured import MEASURED
from tests.golden.pages import PAGES
from tests.golden.reports import REPORTS
from tests.golden.revisions import REVISIONS
from tests.golden.scrub import FOR_MACHINES, as_accepted, rounded
from tests.golden.stored import AGAIN, DECAY, REPLAY, make_runs

FILES = Path(__file__).with_name("files")
OUTPUTS: dict[str, Output] = {**REPORTS, **COMMANDS, **MEASURED, **REVISIONS, **PAGES}
ACCEPT = "uv run pytest tests/golden --accept"


@pytest.fixture(scope="session")
def stored(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A store of every kind of run, made ones and imported ones: this worker's copy."""
    folder = shared_folder / "golden"
    ids = folder / "runs.json"
    with made_once(folder) as is_first:
        if is_first:
            runs = make_runs(folder / "runs.sqlite")
            line = CommandLine(folder, folder, runs)
            for bundle in (REPLAY, AGAIN, DECAY):
                line.stdout("import", str(bundle))
            ids.write_text(json.dumps(runs))
    home = tmp_path_factory.mktemp("home")
    shutil.copy(folder / "runs.sqlite", home)
    return CommandLine(folder, home, json.loads(ids.read_text()))


@pytest.fixture
def line(stored: CommandLine, tmp_path: Path) -> CommandLine:
    """A home for each output: builds and files of one are not seen by the next."""
    line = CommandLine(tmp_path / "folder", tmp_path / "home", stored.runs)
    line.folder.mkdir()
    line.home.mkdir()
    line.store.symlink_to(stored.store)
    return line


@pytest.mark.parametrize("name", OUTPUTS)
def test_output_is_as_accepted(name: str, line: CommandLine, accept: bool) -> None:
    text = OUTPUTS[name](line)
    _require_same(FILES / name, rounded(text) if name.endswith(FOR_MACHINES) else text, accept)


def test_no_line_ends_inside_a_word() -> None:
    """Wrapping at hyphens broke words and the names of servers at 80 columns."""
    lines = ((path.name, line) for path in FILES.rglob("*.txt") for line in path.open())
    assert [each for each in lines if re.search(r"[a-z]-$", each[1])] == []


def test_no_golden_file_is_stale(accept: bool) -> None:
    """A file that no output makes is not compared with anything."""
    present = {path for path in FILES.rglob("*") if path.is_file()}
    stale = sorted(present - {FILES / name for name in OUTPUTS})
    if accept:
        for path in stale:
            path.unlink()
    else:
        assert not stale, f"remove them with: {ACCEPT}"


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name.startswith("audit/")])
def test_audit_shows_no_error(name: str) -> None:
    """Regression: an audit against another replay named a run that was not stored."""
    assert "error: " not in (FILES / name).read_text(encoding="utf-8")


def _require_same(path: Path, text: str, accept: bool) -> None:
    if accept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    accepted = path.read_text(encoding="utf-8") if path.is_file() else ""
    if path.suffix in FOR_MACHINES:
        text = as_accepted(text, accepted)
    if text != accepted:
        difference = "\n".join(
            difflib.unified_diff(
                accepted.splitlines(), text.splitlines(), "accepted", "now", lineterm=""
            )
        )
        name = path.relative_to(FILES)
        pytest.fail(f"{name} differs:\n{difference}\nto accept: {ACCEPT}", pytrace=False)
