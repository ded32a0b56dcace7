"""Every command that an output suggests works as it is printed, for every kind of contender."""

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.block import Block
from deadheat.cli import SUMMARIES
from deadheat.cli.endings import ExitCode
from deadheat.host.local import LocalHost
from tests.cli.conftest import Deadheat
from tests.cli.test_resume import OWN, SPENT
from tests.servers.contenders import CATALOG, running

# Up to the end of the code, of the column, or of the sentence.
END = r"(?=`|  |;|\)| goes on| gives it| shows| says|$)"
SUGGESTED = re.compile(rf"\bdeadheat (?=(?:{'|'.join(SUMMARIES)})\b)(.+?){END}", re.M)
TIME = re.compile(r"(--more|--budget) \S+")  # shortened: what is tested is not the time
WAITS = " --wait-quiet"  # may wait for other tests
BUDGET = ("--budget", "1s")  # of a suggested race, which would take five minutes
KINDS = ("catalog", "elsewhere")  # a server of another catalog, one that runs, and an own one


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that deadheat did not start."""
    with LocalHost() as host, running(host, "hello", tmp_path_factory.mktemp("url") / "log") as at:
        yield at


@pytest.fixture(params=KINDS)
def contenders(
    request: pytest.FixtureRequest, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    """The words that name two contenders at least, in a race that never settles."""
    (tmp_path / "short.toml").write_text(SPENT)
    monkeypatch.chdir(tmp_path)
    protocol = ("--protocol", "short.toml")
    if request.param == "elsewhere":
        monkeypatch.delenv("DEADHEAT_CATALOG")
        return ("hello", "--catalog", str(CATALOG), *protocol, "--url", url, *OWN)
    return ("hello", "outlives-sigterm", *protocol)


def suggested(*outputs: str) -> list[list[str]]:
    found = itertools.chain.from_iterable(SUGGESTED.findall(output) for output in outputs)
    shortened = [TIME.sub(r"\1 1s", command).replace(WAITS, "") for command in found]
    commands = [shlex.split(command) for command in dict.fromkeys(shortened)]
    return [
        [words[0], *BUDGET, *words[1:]] if words[0] == "run" and "--budget" not in words else words
        for words in commands
    ]


def type_all(deadheat: Deadheat, commands: list[list[str]]) -> None:
    for words in commands:
        ended = deadheat(*words)
        if words[0] in ("report", "resume", "run"):
            assert ended.ran, (words, ended.err)
        assert ended.code != ExitCode.USAGE, (words, ended.err)


def test_each_command_that_a_race_suggests_works(
    deadheat: Deadheat, home: Path, contenders: tuple[str, ...]
) -> None:
    ended = deadheat("run", *contenders)
    assert ended.ran, ended.err
    (markdown,) = (home / "reports").iterdir()
    commands = suggested(ended.out, ended.err, markdown.read_text())
    assert {"report"} <= {words[0] for words in commands}
    type_all(deadheat, commands)


def test_each_command_that_an_interrupted_race_suggests_works(
    deadheat: Deadheat, contenders: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks, run = itertools.count(1), Block.run

    def run_or_interrupt(block: Block, *arguments: Any) -> Any:
        trials = run(block, *arguments)
        if next(blocks) == 1:
            raise KeyboardInterrupt
        return trials

    monkeypatch.setattr(Block, "run", run_or_interrupt)
    ended = deadheat("run", "--budget", "10s", *contenders)  # enough for a block anywhere
    assert ended.code == ExitCode.INTERRUPTED, ended.err
    commands = suggested(ended.out, ended.err)
    assert "resume" in {words[0] for words in commands}
    type_all(deadheat, commands)
    suggested_again = suggested(deadheat("resume").err)  # it has ended now
    type_all(deadheat, suggested_again)
