"""Outputs that are closed, full or no longer read, of every command."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.endings import ExitCode
from deadheat.load import find_engine
from tests.cli import every_output
from tests.cli.conftest import short_race
from tests.cli.test_help import commands
from tests.report.made import made_run
from tests.servers.contenders import CATALOG

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


def test_bug_a_closed_or_broken_output_was_a_traceback(tmp_path: Path) -> None:
    """`list >&-` and `report >&-`: an AttributeError; `report | true`: 1. Below: every command."""
    code, said = run_shell("--help | sleep 0", tmp_path)
    assert code in (0, ExitCode.OUTPUT_CLOSED)  # or it was written before its reader ended
    assert said == ""
    assert run_shell("--help >&- 2>/dev/full </dev/null", tmp_path) == (0, "")
    code, said = run_shell("--help >/dev/full", tmp_path)
    assert (code, said.startswith("error: the output: No space left")) == (ExitCode.FAILED, True)


@dataclass(frozen=True, slots=True)
class Call:
    """A cheap call of a command. `ends_after_s`: a signal ends it, as it does not end by itself.

    `measures`: on a busy machine, its exit code is another one.
    """

    words: str
    ends_after_s: float = 0
    measures: bool = False


CALLS = {
    "run": Call("hello --protocol short.toml", measures=True),
    "resume": Call(""),
    "report": Call(""),
    "compare": Call("alpha beta --in {run}"),
    "list": Call(""),
    "explain": Call("no-such-server"),
    "plan": Call("hello --protocol brief"),
    "doctor": Call(""),
    "regress": Call("-- no-such-program"),
    "footprint": Call("no-such-server"),
    "capacity": Call("no-such-server"),
    "cluster run": Call("hello --protocol paper"),
    "cluster report": Call(""),
    "serve": Call("--port 0", ends_after_s=1.5),
    "board race": Call("no-such-server -o edition"),
    "board write": Call("-o board"),
    "export": Call("-o run.deadheat"),
    "import": Call(str(BUNDLE)),
    "build": Call("hello"),
    "verify": Call("hello", measures=True),
    "new": Call("mine --hello python --catalog own"),
    "protocols": Call(""),
    "workloads": Call(""),
    "clean": Call("--logs -y"),
    "completions": Call("bash"),
    "audit": Call("board.csv"),
    "calibrate": Call("--from {run}"),
    "containerfile": Call(f"go-gin --catalog {ROOT}"),
    "outdated": Call("no-such-server"),
    "workloads import": Call("--curl 'curl http://a.test/x?y=1' -o items.toml"),
}
STATES = [  # of standard output and of standard error
    *(("kept", "kept"), ("closed", "closed"), ("full", "kept"), ("broken", "kept")),
    *(("kept", "full"), ("kept", "broken")),
]
HELP = "run --help"  # that of every command is printed by the same function
MEASURED = {ExitCode.OK, ExitCode.NO_ANSWER, ExitCode.UNMEASURABLE}
ENDED_BY = {"full": ExitCode.FAILED, "broken": ExitCode.OUTPUT_CLOSED}  # if it prints something
FULL = "error: the output: No space left on device"


def test_each_command_has_a_call() -> None:
    """A new command gets a line above, and with that every state of its outputs."""
    assert {*CALLS} == {name for name, _ in commands()}


def called(name: str, call: Call, folder: Path) -> list[dict[str, Any]]:
    """The call of a command in all `STATES`, in order."""
    template = folder / "template"
    (template / "home").mkdir(parents=True)
    made = made_run(template / "home" / "runs.sqlite")
    made.race({"alpha": 9000, "beta": 3000}, blocks=4)
    run_id = made.end()
    (template / "short.toml").write_text(short_race('kind = "fixed", repetitions = 2'))
    (template / "own" / "servers").mkdir(parents=True)
    (template / "board.csv").write_text("entry,rate_per_s\nalpha,9000\nbeta,8000\n")
    words = shlex.split(f"{name} {call.words}".format(run=run_id))
    ask = {"words": words, "ends_after_s": call.ends_after_s}
    tasks = [{**ask, "stdout": stdout, "stderr": stderr} for stdout, stderr in STATES]
    environment = {**os.environ, "DEADHEAT_CATALOG": str(CATALOG), "DEADHEAT_LOAD": find_engine()}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, every_output.__file__],
        input=json.dumps({"tasks": tasks, "root": str(folder), "template": str(template)}),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    ended: list[dict[str, Any]] = json.loads(done.stdout)
    return ended


@pytest.mark.parametrize("name", [*CALLS, HELP])
def test_every_command_bears_outputs_that_are_closed_full_or_broken(
    name: str, tmp_path: Path
) -> None:
    call = CALLS.get(name, Call(""))
    usual, *others = called(name, call, tmp_path)
    prints = bool(Path(usual["folder"], "stdout").read_text())
    for other in others:
        codes = {usual["code"]} | (MEASURED if call.measures else set())
        if prints and other["stdout"] in ENDED_BY:
            codes = {ENDED_BY[other["stdout"]]}
        said = "" if other["stderr"] != "kept" else Path(other["folder"], "stderr").read_text()
        state = (other["words"], other["stdout"], other["stderr"], said)
        assert other["code"] in codes, state
        assert "Traceback" not in said, state
        assert "Exception ignored" not in said, state
        assert (FULL in said) == (prints and other["stdout"] == "full"), state


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
