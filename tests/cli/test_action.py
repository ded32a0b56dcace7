"""The GitHub action: its steps, with a `deadheat` and a `gh` that only note what they are asked."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.campaign.test_revision import git

ROOT = Path(__file__).resolve().parents[2]
ACTION = (ROOT / "action.yml").read_text()
STEPS = ROOT / "action" / "steps.sh"

DEADHEAT = """#!/bin/sh
printf '%s\\n' "$@" > "$RUNNER_TEMP/asked"
[ -z "$WRITES" ] || while [ $# -gt 0 ]; do
    [ "$1" != --comment ] || echo "### deadheat: $WRITES" > "$2"
    shift
done
printf '\\033[31mbuild ended with 2\\033[0m\\n' >&2
exit "$CODE"
"""
GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$RUNNER_TEMP/gh"
case "$*" in
    *--paginate*) echo "$LAST" ;;
    *POST*|*PATCH*) exit "$CODE" ;;
esac
"""


@dataclass(frozen=True)
class Ended:
    """What a step left behind."""

    code: int
    text: str
    folder: Path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


def step(folder: Path, name: str, **variables: str) -> Ended:
    for path, program in (("deadheat/bin/deadheat", DEADHEAT), ("bin/gh", GH)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(program)
        (folder / path).chmod(0o755)
    env = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_REPOSITORY": "o/r",
        **variables,
    }
    ended = subprocess.run([STEPS, name], env=env, cwd=folder, capture_output=True, text=True)
    return Ended(ended.returncode, ended.stdout + ended.stderr, folder)


def race(folder: Path, code: int, writes: str = "", **variables: str) -> Ended:
    known = {
        "COMMAND": "./server --name 'a b' {port}",
        "BUILD": "make all",
        "BASE": "HEAD^1",
        "HEAD": "HEAD",
        "BUDGET": "10m",
        "OPTIONS": "--margin 5%",
        "INCONCLUSIVE": "pass",
        "PULL_BASE": "",
        "PULL_HEAD": "",
    }
    return step(folder, "race", CODE=str(code), WRITES=writes, **(known | variables))


@pytest.mark.parametrize(
    ("code", "verdict", "inconclusive", "ends_with"),
    [
        (0, "PASS", "pass", 0),
        (3, "FAIL", "pass", 3),
        (4, "INCONCLUSIVE", "pass", 0),
        (4, "INCONCLUSIVE", "fail", 4),
        (5, "ERROR", "pass", 5),
    ],
)
def test_a_verdict_is_in_the_summary_and_decides_the_job(
    tmp_path: Path, code: int, verdict: str, inconclusive: str, ends_with: int
) -> None:
    ended = race(tmp_path, code, verdict, INCONCLUSIVE=inconclusive)
    assert ended.code == ends_with
    assert ended.read("summary") == f"### deadheat: {verdict}\n"
    assert ended.read("output").startswith(f"verdict={verdict}\nexit-code={code}\n")
    assert ("::warning::" in ended.text) == (code == 4 and ends_with == 0)


def test_a_failed_build_has_a_summary_too(tmp_path: Path) -> None:
    """A job that commented with the file that `regress` had not written failed a second time."""
    ended = race(tmp_path, 1)
    assert ended.code == 1
    assert ended.read("summary").startswith("### deadheat: ERROR\n")
    assert "\n    build ended with 2\n" in ended.read("summary")
    assert ended.read("deadheat.md") == ended.read("summary")


def test_words_are_passed_as_a_shell_splits_them(tmp_path: Path) -> None:
    words = race(tmp_path, 0, "PASS").read("asked").splitlines()
    assert words[words.index("--") + 1 :] == ["./server", "--name", "a b", "{port}"]
    assert words[words.index("--build") + 1] == "make all"
    assert words[words.index("--margin") + 1] == "5%"


@pytest.mark.parametrize(("last", "method"), [("", "--method POST"), ("12\n77", "--method PATCH")])
def test_a_comment_is_changed_or_added(tmp_path: Path, last: str, method: str) -> None:
    ended = step(tmp_path, "comment", NUMBER="5", COMMENT="c.md", LAST=last, CODE="0")
    assert ended.code == 0
    _, written = ended.read("gh").splitlines()
    assert method in written
    assert ("comments/77" in written) == bool(last)
    assert "body=@c.md" in written


def test_a_token_that_may_not_comment_does_not_fail_the_job(tmp_path: Path) -> None:
    ended = step(tmp_path, "comment", NUMBER="5", COMMENT="c.md", LAST="", CODE="1")
    assert ended.code == 0
    assert "::warning::no comment: give the job the permission" in ended.text


def test_a_fork_is_raced_and_not_commented_on() -> None:
    """Its token cannot, so the last step is left out."""
    _, _, last = ACTION.rpartition("- name: ")
    assert "github.event.pull_request.head.repo.full_name == github.repository" in last
    assert "always()" in last


def test_a_pull_request_is_compared_with_what_it_was_merged_into(tmp_path: Path) -> None:
    """The base branch may have moved on. Where the job checked out the head, HEAD^1 is wrong."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "base")
    base = git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "switch", "-q", "-c", "change")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "change")
    head = git(tmp_path, "rev-parse", "HEAD")
    pull = {"BASE": "", "PULL_BASE": "older", "PULL_HEAD": head}
    for checked_out, compared_with in (("change", "older"), ("main", "HEAD^1")):
        git(tmp_path, "switch", "-q", checked_out)
        if checked_out == "main":
            git(tmp_path, "merge", "-q", "--no-ff", "-m", "merge", "change")
            assert git(tmp_path, "rev-parse", "HEAD^1") == base
        words = race(tmp_path, 0, "PASS", **pull).read("asked").splitlines()
        assert words[words.index("--base") + 1] == compared_with
    words = race(tmp_path, 0, "PASS", BASE="v1", PULL_HEAD=head).read("asked").splitlines()
    assert words[words.index("--base") + 1] == "v1"


def test_no_input_is_part_of_a_script() -> None:
    """An expression in a script would run what a pull request writes into it."""
    scripts = re.findall(r"^ +run: (.*)$", ACTION, re.M)
    assert len(scripts) == 3
    call = re.compile(r"""'"\$GITHUB_ACTION_PATH/action/steps\.sh" \w+'""")
    assert all(call.fullmatch(script) for script in scripts)


def test_only_inputs_that_exist_are_used() -> None:
    inputs = ACTION[ACTION.index("inputs:") : ACTION.index("outputs:")]
    declared = set(re.findall(r"^  (\w+):$", inputs, re.M))
    assert set(re.findall(r"inputs\.(\w+)", ACTION)) == declared
    document = (ROOT / "docs" / "regressions.md").read_text()
    (example,) = re.findall(r"uses: [^\n]*/deadheat@[^\n]*\n +with:\n((?: {10,}.*\n)+)", document)
    assert set(re.findall(r"^ {10}(\w+):", example, re.M)) <= declared
    assert "command" in re.findall(r"^ {10}(\w+):", example, re.M)


def test_the_wheels_of_a_release_are_those_that_the_action_takes() -> None:
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert set(re.findall(r"machine: (\w+)", release)) == {"x86_64", "aarch64"}
    assert "manylinux2014" in (ROOT / "Makefile").read_text()
    assert "deadheat-*_$(uname -m).whl" in STEPS.read_text()
