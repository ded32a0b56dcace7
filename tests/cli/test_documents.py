"""Command lines and pictures in README.md and docs/."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from deadheat.cli import SUMMARIES, cli
from deadheat.cli.workloads import import_command as import_workload

HERE = Path(__file__).resolve().parents[2]
PAGES = (HERE / "README.md", *sorted((HERE / "docs").glob("*.md")))
FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
FENCED = re.compile(r"^( *)```\w*\n(.*?)^\1```", re.M | re.S)


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words of each call of `deadheat`, without the name of the program."""
    for _, block in FENCED.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            for call in re.findall(r"(?:^|[;&$]|run:) *deadheat +([^-;][^;]*)", line):
                yield shlex.split(call, comments=True)


def unknown_flags(words: list[str]) -> list[str]:
    """The flags before `--` that the command does not have."""
    command = cli.get_command(click.Context(cli, **cli.context_settings), words[0])
    assert command is not None
    if words[:2] == ["workloads", "import"]:
        command = import_workload
    if isinstance(command, click.Group) and words[1:]:
        command = command.commands[words[1]]
    options = [param for param in command.params if isinstance(param, click.Option)]
    known = {"--help", *(name for option in options for name in option.opts)}
    arguments = words[1 : words.index("--")] if "--" in words else words[1:]
    return [word for word in arguments if word.startswith("-") and word.split("=")[0] not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_and_their_flags_exist(page: Path) -> None:
    lines = [*command_lines(page)]
    assert {words[0] for words in lines} <= {*SUMMARIES}
    text = FENCE.sub("", page.read_text())
    lines += map(shlex.split, re.findall(rf"`deadheat ((?:{'|'.join(SUMMARIES)})\b[^`]*)`", text))
    assert [words for words in lines if unknown_flags(words)] == []


LINK = re.compile(r"(?<!!)\[[^]]*\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HISTORY = HERE / "CHANGELOG.md"
LINKING = (*PAGES, HERE / "CONTRIBUTING.md", HERE / "SECURITY.md", HERE / "STYLE.md", HISTORY)


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    for name, anchor in LINK.findall(FENCE.sub("", page.read_text())):
        target = (page.parent / name) if name else page
        assert target.exists(), f"{page.name} links to {name}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {name}#{anchor}"


FILE = re.compile(r"`((?:src|tests|bench|engine|docs|web|recipes|protocols)/[\w./-]+\.\w+)`")


@pytest.mark.parametrize(
    "page", [page for page in LINKING if page != HISTORY], ids=lambda page: page.name
)
def test_files_that_a_page_names_exist(page: Path) -> None:
    names = FILE.findall(page.read_text())
    assert [name for name in names if not (HERE / name).exists()] == []


def test_the_index_lists_every_document() -> None:
    index = (HERE / "docs" / "README.md").read_text()
    names = {page.name for page in (HERE / "docs").glob("*.md")} - {"README.md"}
    assert {name for name in names if f"({name})" not in index} == set()


GENERATED = re.compile(r"^<!-- (?:figures|markdown): .*?^<!-- end -->", re.M | re.S)
WORDS_MAX = 1500
LONGER = {"servers.md", HISTORY.name}  # made by `deadheat verify`, and grown


@pytest.mark.parametrize(
    "page", [page for page in LINKING if page.name not in LONGER], ids=lambda page: page.name
)
def test_a_page_answers_one_question(page: Path) -> None:
    """A page with more words answers several. Generated blocks and the lines of tables are none."""
    words = GENERATED.sub("", page.read_text()).replace("|", " ").replace("---", " ").split()
    assert len(words) <= WORDS_MAX


WORKLOADS = ("docs/results/edition-workloads", "docs/results/workloads.deadheat")
BOARDS = {  # `make figures` copies each from a board
    "board.svg": ("docs/results/edition",),
    "board-workloads.svg": WORKLOADS,
}
PICTURES = {  # each once, of the first page that shows it
    (page.parent / name).resolve(): (page, name)
    for page in reversed(PAGES)
    for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text())
}


@pytest.mark.parametrize(("page", "name"), PICTURES.values(), ids=[path.name for path in PICTURES])
def test_a_picture_has_the_bytes_that_its_command_writes(
    page: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (sources := BOARDS.get(Path(name).name)) is not None:
        monkeypatch.chdir(HERE)
        words = ["board", "write", *sources, "-o", str(tmp_path / "board")]
        assert CliRunner().invoke(cli, words).exit_code == 0
        written = tmp_path / "board" / "index.svg"
        assert written.read_bytes() == (page.parent / name).read_bytes()
        return
    (words,) = [words for words in command_lines(page) if words[-2:] == ["-o", name]]
    monkeypatch.chdir(page.parent)
    written = tmp_path / "written.svg"
    assert CliRunner().invoke(cli, [*words[:-1], str(written)]).exit_code == 0
    assert written.read_bytes() == (page.parent / name).read_bytes()


def test_the_readme_shows_a_picture() -> None:
    assert HERE / "README.md" in [page for page, _ in PICTURES.values()]


def test_command_lines_are_found_in_every_page_that_has_some() -> None:
    """Without this, the tests above could pass on an empty list."""
    pages = {page.name for page in PAGES if any(command_lines(page))}
    pages_with_lines = """README add-a-server board boards cluster common-rate containers explain
        first-ten-minutes footprint installation protocols regressions replays transports two-hosts
        workloads"""
    assert pages == {f"{name}.md" for name in pages_with_lines.split()}


def test_unknown_flags_are_found() -> None:
    assert unknown_flags(["run", "go-gin", "--brief", "--", "./s", "--port"]) == ["--brief"]
