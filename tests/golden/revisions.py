"""`deadheat regress` on two real commits, whose race is a made run."""

import os
import subprocess
from functools import partial
from pathlib import Path
from unittest import mock

from tests.golden.command_line import CommandLine, Output, session
from tests.report.made import SETTLE, made_run

WRITTEN = ["--comment", "comment.md", "--junit", "junit.xml"]


def _regress(head_per_s: float, blocks: int, options: list[str], line: CommandLine) -> str:
    """Two revisions of a repository, whose race is a made run; what is printed and the files."""
    commits = _repository(line.folder)
    store = line.folder / "runs.sqlite"

    def conduct(*_: object) -> str:
        run = made_run(store, protocol=SETTLE, command=("deadheat", "regress", "--base", "HEAD~"))
        base, head = (f"{role}-{commit[:10]}" for role, commit in commits.items())
        run.race({base: 9000.0, head: head_per_s}, blocks=blocks, levels=(100, 1000), noise=0.005)
        return run.end(race_s=300.0)

    words = ["regress", "--base", "HEAD~", "--store", "runs.sqlite", *options]
    with mock.patch("deadheat.cli.regress.conduct", conduct):
        text = session([*words, "--", "./server", "{port}"], line, shipped=True, observed=True)
    files = [line.folder / option for option in options if "." in option]
    return text + "".join(
        f"--- {file.name}\n{line.scrubbed(file.read_text('utf-8'), observed=True)}"
        for file in files
    )


def _repository(folder: Path) -> dict[str, str]:
    """Two commits, the same on any day; their names by role."""
    day = "2026-01-01T12:00:00+00:00"
    environment = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "made"), ("EMAIL", "made@localhost"), ("DATE", day))},
    }  # fmt: skip

    def git(*arguments: str) -> str:
        command = ("git", "-C", str(folder), *arguments)
        done = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    commits = {}
    for role in ("base", "head"):
        (folder / "server").write_text(role)
        git("add", "server")
        git("commit", "-q", "-m", role)
        commits[role] = git("rev-parse", "HEAD")
    return commits


REVISIONS: dict[str, Output] = {
    "regress/pass.txt": partial(_regress, 9010.0, 8, []),
    "regress/fail.txt": partial(_regress, 6000.0, 8, WRITTEN),
    "regress/fail.json": partial(_regress, 6000.0, 8, ["--json"]),
    "regress/inconclusive.txt": partial(_regress, 9000.0, 1, WRITTEN),
}
