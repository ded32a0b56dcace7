"""Completion scripts, and what they complete."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from deadheat.cli import cli
from deadheat.cli.help import SHELLS, VARIABLE
from tests.cli.conftest import Deadheat


def completed(*words: str) -> list[str]:
    """What the last word may become."""
    *before, last = words
    shell = ShellComplete(cli, {}, "deadheat", VARIABLE)
    return [item.value for item in shell.get_completions(list(before), last)]


@pytest.mark.parametrize("shell", SHELLS)
def test_prints_a_script_for_each_shell(deadheat: Deadheat, shell: str) -> None:
    ended = deadheat("completions", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in ended.out


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_its_script(deadheat: Deadheat, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = deadheat("completions", shell).out
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_completes_with_its_script(deadheat: Deadheat) -> None:
    """As the shell does: it calls the function with the words typed so far."""
    script = deadheat("completions", "bash").out
    bin_folder = Path(sys.executable).parent
    typed = "COMP_WORDS=(deadheat comp); COMP_CWORD=1; _deadheat_completion deadheat"
    done = subprocess.run(
        ["bash"],
        input=f'PATH={bin_folder}:$PATH\n{script}\n{typed}; echo "${{COMPREPLY[*]}}"\n',
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["compare", "completions"]


def test_completes_commands_options_and_servers(deadheat: Deadheat) -> None:
    assert deadheat("completions", "bash").code == 0  # sets the catalog of the tests
    assert completed("comp") == ["compare", "completions"]
    assert "--budget" in completed("run", "--bud")
    assert completed("run", "exits-at") == ["exits-at-start"]
    assert completed("verify", "hello", "hell") == ["hello"]


def test_no_catalog_completes_no_server(deadheat: Deadheat) -> None:
    assert deadheat("completions", "bash").code == 0
    assert completed("run", "--catalog", "/nowhere", "he") == []
