"""The terms of docs/glossary.md: each is defined once, is in use, and names what exists."""

import re
from pathlib import Path

import click
import pytest

from deadheat.cli import cli

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
USED_IN = ("README.md", "CONTRIBUTING.md", "docs", "src", "engine/src", "web/src", "protocols")
SUFFIXES = {".py", ".rs", ".js", ".md", ".toml"}
LEFT_OUT = (GLOSSARY, ROOT / "docs" / "results", ROOT / "src" / "deadheat" / "shipped")
ROW = re.compile(r"^\| (\*\*.+?) \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str]]:
    """Each term with its definition; one row may define several terms."""
    cells = ROW.findall(GLOSSARY.read_text(encoding="utf-8"))
    return [(term, text) for cell, text in cells for term in re.findall(r"\*\*(.+?)\*\*", cell)]


@pytest.fixture(scope="module")
def text() -> str:
    """All code and documents, in lower case; an underscore separates words, as a space does."""
    texts = []
    for name in USED_IN:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in SUFFIXES and not any(file.is_relative_to(p) for p in LEFT_OUT):
                texts.append(file.read_text(encoding="utf-8"))
    return re.sub(r"[\s_]+", " ", " ".join(texts)).lower()


def commands() -> dict[str, set[str]]:
    """The options of each command."""
    context = click.Context(cli)
    listed = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in listed.items()
        if command is not None
    }


def test_each_term_is_defined_once() -> None:
    terms = [term for term, _ in rows()]
    assert len(terms) > 50
    assert sorted(terms) == sorted(set(terms))


def test_each_term_is_in_use(text: str) -> None:
    """In its singular or its plural, in code or in a document."""
    unused = [
        term
        for term, _ in rows()
        if not re.search(rf"(?<![a-z]){re.escape(term.lower())}(s|es)?(?![a-z])", text)
    ]
    assert not unused


def test_each_name_of_a_definition_is_in_the_code() -> None:
    """A gate, a setting or a class of requests, as the code spells it."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "engine" / "src").rglob("*.rs")]
    code = " ".join(path.read_text(encoding="utf-8") for path in sources)
    names = {name for _, text in rows() for name in re.findall(r"`(\w+)`", text)}
    assert names
    assert {name for name in names if f'"{name}"' not in code} == set()


def test_each_path_of_a_definition_exists() -> None:
    paths = [path for _, text in rows() for path in re.findall(r"`([\w.]+/)`", text)]
    assert paths
    assert [path for path in paths if not (ROOT / path).is_dir()] == []


def test_each_option_of_a_definition_is_one() -> None:
    known = commands()
    of_any = set().union(*known.values())
    options = {option for _, text in rows() for option in re.findall(r"`(--[\w-]+)`", text)}
    assert options
    assert options <= of_any


def test_each_command_of_a_definition_is_one() -> None:
    known = commands()
    written = [
        line.split() for _, text in rows() for line in re.findall(r"`deadheat ([^`]+)`", text)
    ]
    assert written
    for command, *options in written:
        assert {word for word in options if word.startswith("--")} <= known[command]
