"""The words that docs/glossary.md replaced are gone from the code and the documents."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"

# Retired word, in every form it had -> the word of the glossary.
RETIRED = {
    r"racers?": "contender",
    r"rivals?": "contender",
    r"entrants?": "contender",
    r"resident[ _]servers?": "instance",
    r"canar(?:y|ies)": "control",
    r"companions?": "control",
    r"doubts?": "gate",
    r"ways?[ _]out": "hint",
}
LOOKED_AT = ("README.md", "CONTRIBUTING.md", "docs", "src", "engine/src", "web/src", "protocols")
SUFFIXES = {".py", ".rs", ".js", ".css", ".html", ".md", ".json", ".toml", ".txt"}
ALLOWED = (
    ROOT / "src" / "deadheat" / "store",  # old migrations, and values that old runs have
    ROOT / "src" / "deadheat" / "shipped",  # links to the catalog
    ROOT / "src" / "deadheat" / "report" / "formats" / "page.html",  # built, with libraries
    ROOT / "docs" / "results" / "servers.json",  # what servers printed
)


def files() -> Iterator[Path]:
    for name in LOOKED_AT:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in SUFFIXES and not any(file.is_relative_to(a) for a in ALLOWED):
                yield file


def uses(word: str, text: str) -> Iterator[tuple[int, str]]:
    """Line number and line of each use; an underscore separates words, as a space does."""
    whole = re.compile(rf"(?<![a-z]){word}(?![a-z])", re.IGNORECASE)
    for number, line in enumerate(text.splitlines(), 1):
        if whole.search(line):
            yield number, line.strip()


@pytest.fixture(scope="module")
def texts() -> dict[Path, str]:
    return {path: path.read_text() for path in files()}


@pytest.mark.parametrize(("word", "instead"), RETIRED.items(), ids=RETIRED.values())
def test_retired_word_is_not_used(word: str, instead: str, texts: dict[Path, str]) -> None:
    assert texts
    places = [
        f"{path.relative_to(ROOT)}:{number}: {line[:100]}"
        for path, text in texts.items()
        for number, line in uses(word, text)
    ]
    assert not places, f"write {instead!r}:\n" + "\n".join(places)


def test_glossary_defines_every_replacement() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY.read_text(), re.M)
    assert len(terms) == len(set(terms))
    assert {*RETIRED.values()} <= {*terms}


@pytest.mark.parametrize("line", ["a Racer is", "racer_names", "RACERS", "two racers."])
def test_finds_a_retired_word_in_prose_and_in_names(line: str) -> None:
    assert list(uses(r"racers?", line)) == [(1, line)]


@pytest.mark.parametrize("line", ["the contender", "bracer", "tracers"])
def test_leaves_other_words_alone(line: str) -> None:
    assert not list(uses(r"racers?", line))
