"""The shell of action.yml, with a `deadheat` that ends as it is told."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

ACTION = Path(__file__).resolve().parents[2] / "action.yml"


def script(step: str) -> str:
    """The shell of the step with this name."""
    text = ACTION.read_text()
    found = re.search(
        rf"- name: {step}\n.*?\n      run: \|\n(.*?)(?=\n    - name: |\Z)", text, re.S
    )
    assert found is not None, step
    return textwrap.dedent(found[1])


@pytest.mark.parametrize(
    ("code", "inconclusive", "ends", "verdict"),
    [
        (0, "pass", 0, "PASS"),
        (3, "pass", 3, "FAIL"),
        (4, "pass", 0, "INCONCLUSIVE"),
        (4, "fail", 4, "INCONCLUSIVE"),
        (1, "pass", 1, "ERROR"),
    ],
)
def test_the_action_ends_as_the_race_and_always_writes_the_summary(
    tmp_path: Path, code: int, inconclusive: str, ends: int, verdict: str
) -> None:
    fake = tmp_path / "deadheat"
    fake.write_text(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > words\necho said\n"
        f"[ {code} = 1 ] || echo '### deadheat: race' > \"$RUNNER_TEMP/deadheat-comment.md\"\n"
        f"exit {code}\n"
    )
    fake.chmod(0o755)
    settings = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
        "BASE": "main",
        "HEAD": "HEAD",
        "BUILD": "make all",
        "COMMAND": "./server --port {port} 'two words'",
        "BUDGET": "1m",
        "OPTIONS": "--path '/a b' --margin 5%",
        "INCONCLUSIVE": inconclusive,
    }
    command = ["bash", "-e", "-c", script("race the revisions")]
    ended = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == ends, ended.stderr
    summary = (tmp_path / "summary").read_text()
    assert ("no race" in summary, "said" in summary) == (code == 1, code == 1)
    outputs = (tmp_path / "outputs").read_text()
    assert outputs == f"verdict={verdict}\nexit-code={code}\n"
    words = (tmp_path / "words").read_text().splitlines()
    assert words[words.index("--build") + 1] == "make all"
    assert words[words.index("--path") + 1] == "/a b"
    assert words[words.index("--") + 1 :] == [
        "sh",
        "-c",
        "exec ./server --port {port} 'two words'",
    ]


def test_no_input_is_part_of_a_script() -> None:
    """An expression in a script would run what a pull request writes into it."""
    for step in ("install deadheat", "race the revisions", "comment on the pull request"):
        assert "${{" not in script(step)
