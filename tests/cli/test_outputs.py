"""Outputs that are closed, full or no longer read: all commands share the code for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deadheat.cli.endings import ExitCode

PROGRAM = f"{sys.executable} -c 'from deadheat.cli import main; main()'"
ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "docs" / "results" / "decay.deadheat"


def run_shell(tail: str, home: Path) -> tuple[int, str]:
    """The exit code, and what went to the standard error of the shell."""
    script = f"set -o pipefail; {PROGRAM} {tail}"
    environment = {**os.environ, "DEADHEAT_HOME": str(home), "DEADHEAT_CATALOG": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("asks", ["--help", "cluster run --help"])
def test_bug_a_closed_or_broken_output_was_a_traceback(asks: str, tmp_path: Path) -> None:
    """`list >&-` and `report >&-`: an AttributeError; `report | true`: 1."""
    code, said = run_shell(f"{asks} | sleep 0", tmp_path)
    assert code in (0, ExitCode.OUTPUT_CLOSED)  # or it was written before its reader ended
    assert said == ""
    assert run_shell(f"{asks} >&- 2>/dev/full </dev/null", tmp_path) == (0, "")
    code, said = run_shell(f"{asks} >/dev/full", tmp_path)
    assert (code, said.startswith("error: the output: No space left")) == (ExitCode.FAILED, True)


@pytest.mark.parametrize("command", ["list", f"report --from {BUNDLE}"])
def test_results_without_a_reader(command: str, tmp_path: Path) -> None:
    assert run_shell(f"{command} >&- 2>&- <&-", tmp_path) == (0, "")
    assert run_shell(f"{command} > >(exec true) 2>/dev/full; sleep 0.1", tmp_path)[1] == ""


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", ">&- 2>&-"])
def test_a_full_standard_error_does_not_change_the_exit_code(
    redirection: str, tmp_path: Path
) -> None:
    assert run_shell(f"bogus {redirection}", tmp_path) == (ExitCode.USAGE, "")
    missing = f"report --from {tmp_path}/missing {redirection}"
    assert run_shell(missing, tmp_path) == (ExitCode.FAILED, "")


def test_a_closed_output_does_not_give_its_number_to_a_file(tmp_path: Path) -> None:
    """What is printed would go into the store."""
    code = (
        "import os, sys\n"
        "from deadheat.output import open_closed_outputs\n"
        "open_closed_outputs()\n"
        f"with open({str(tmp_path / 'store')!r}, 'w') as file:\n"
        "    os.write(1, b'x'); os.write(2, b'x'); print('x', flush=True)\n"
        "    sys.exit(file.fileno() < 3)\n"
    )
    script = f'{sys.executable} -c "$0" <&- >&- 2>&-'
    assert subprocess.run(["bash", "-c", script, code]).returncode == 0
    assert (tmp_path / "store").read_text() == ""
