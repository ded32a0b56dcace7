"""The exit codes are those of docs/scripts.md, and every one but 0 comes with a reason."""

import re
from pathlib import Path

import pytest

import deadheat.cli.calibrate as calibrate
from deadheat.campaign.calibrate import Calibration
from deadheat.cli.endings import ExitCode
from deadheat.cli.execution import exit_code_of
from deadheat.report.model.load import load_view
from tests.cli.conftest import Deadheat
from tests.golden.stored import copies_run
from tests.report.made import failed, made_run

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| `([A-Z_]+)` \| ", re.MULTILINE)


def test_the_table_in_the_docs_is_that_of_the_code() -> None:
    rows = ROW.findall((ROOT / "docs" / "scripts.md").read_text())
    assert {name: int(code) for code, name in rows} == {code.name: code for code in ExitCode}


def test_no_command_uses_another_code() -> None:
    """`sys.exit` and `ctx.exit` take a member of the table, or what a function of it returns."""
    bare = re.compile(r"\bexit\(\s*\d|exit\(\s*[0-9]+ if")
    for path in (ROOT / "src" / "deadheat" / "cli").glob("*.py"):
        assert not bare.search(path.read_text()), path.name


@pytest.mark.parametrize(
    ("valid", "state", "code"),
    [
        (True, "complete", ExitCode.OK),
        (False, "complete", ExitCode.NO_ANSWER),
        (True, "interrupted", ExitCode.INTERRUPTED),
    ],
)
def test_a_run_without_a_valid_trial_does_not_exit_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], valid: bool, state: str, code: ExitCode
) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 1000, "b": 900}, gates_of={} if valid else {"a": failed(), "b": failed()})
    run.end(state)
    assert exit_code_of(load_view(run.store, run.run_id)) == code
    said = capsys.readouterr().err
    assert ("no trial was valid" in said and "hint: " in said) == (code is ExitCode.NO_ANSWER)


def test_calibrate_says_why_it_does_not_exit_with_0(
    deadheat: Deadheat, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: `calibrate --copies 3` exited with 1 and no reason."""
    home.mkdir()
    race = copies_run(home / "runs.sqlite")
    monkeypatch.setattr(calibrate, "FEWEST_PAIRS", 10_000)
    undecided = deadheat("calibrate", "--from", race)
    assert undecided.code == ExitCode.NO_ANSWER
    assert undecided.err.startswith("error: undecided: ")
    assert undecided.hint == "use more --copies or more --races"


@pytest.mark.parametrize(("passed", "code"), [(True, ExitCode.OK), (False, ExitCode.FAILED)])
def test_a_failed_calibration_says_so(
    capsys: pytest.CaptureFixture[str], passed: bool, code: ExitCode
) -> None:
    result = Calibration(
        false_difference_rate=0.2,
        false_differences=20,
        null_pairs=1000,
        allowed=0.1,
        false_races=0,
        passed=passed,
        minimum_detectable_effect=0.02,
        slowdowns=(),
        nominal=0.05,
        elapsed_s=1.0,
        runs=(),
    )
    assert calibrate._exit_code(result) is code
    assert capsys.readouterr().err.startswith("error: failed: ") == (not passed)
