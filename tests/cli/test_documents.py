"""Each command line in a fenced block of README.md and docs/ is one that there is."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from deadheat.cli import COMMANDS, cli

HERE = Path(__file__).resolve().parents[2]
PAGES = (HERE / "README.md", *sorted((HERE / "docs").glob("*.md")))
FENCED = re.compile(r"^( *)```\w*\n(.*?)^\1```", re.M | re.S)


def command_lines(page: Path) -> Iterator[list[str]]:
    """Each call of `deadheat` as words, without the program's name and what a user's own is."""
    for _, block in FENCED.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            for call in re.findall(r"(?:^|[;&$]|run:) *deadheat +([^;]+)", line):
                yield shlex.split(call, comments=True)


LINES = [
    pytest.param(words, id=f"{page.name}: {' '.join(words)[:60]}")
    for page in PAGES
    for words in command_lines(page)
]


def unknown_flags(words: list[str]) -> list[str]:
    """Flags in a command's arguments, up to `--`, that it does not have."""
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    options = [one for one in command.params if isinstance(one, click.Option)]
    known = {name for one in options for name in (*one.opts, *one.secondary_opts)}
    mine = words[1 : words.index("--")] if "--" in words else words[1:]
    return [word for word in mine if word.startswith("-") and word.split("=")[0] not in known]


@pytest.mark.parametrize("words", LINES)
def test_the_command_and_its_flags_exist(words: list[str]) -> None:
    assert words[0] in COMMANDS
    assert not unknown_flags(words)


PICTURES = [
    (page, name)
    for page in PAGES
    for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text())
]


@pytest.mark.parametrize(("page", "name"), PICTURES)
def test_a_picture_is_what_the_command_beneath_it_makes(
    page: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (words,) = [words for words in command_lines(page) if words[-2:] == ["-o", name]]
    monkeypatch.chdir(page.parent)
    made = tmp_path / "made.svg"
    assert CliRunner().invoke(cli, [*words[:-1], str(made)]).exit_code == 0
    assert made.read_bytes() == (page.parent / name).read_bytes()


def test_the_readme_shows_a_picture() -> None:
    assert HERE / "README.md" in [page for page, _ in PICTURES]


def test_a_page_with_commands_has_them_found() -> None:
    """Nothing above is worth anything where the search finds nothing."""
    found = {page.name for page in PAGES if any(command_lines(page))}
    named = {"README.md", "add-a-server.md", "protocols.md", "regressions.md"}
    assert found == named


def test_a_flag_that_is_none_is_seen() -> None:
    assert unknown_flags(["run", "go-gin", "--brief", "--", "./s", "--port"]) == ["--brief"]
