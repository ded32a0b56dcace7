"""The words that docs/glossary.md replaced are gone from the code and the documents."""

import re
import symtable
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
LOOKED_AT = (
    *("README.md", "CONTRIBUTING.md", "docs", "src", "tests", "bench", "protocols"),
    *("engine/src", "engine/tests", "web/src", "web/test"),
)
SUFFIXES = {".py", ".rs", ".js", ".css", ".html", ".md", ".json", ".toml", ".txt"}
ALLOWED = (
    ROOT / "src" / "deadheat" / "shipped",  # links to the catalog
    ROOT / "src" / "deadheat" / "report" / "formats" / "page.html",  # built, with libraries
    ROOT / "docs" / "results" / "servers.json",  # what servers printed
    ROOT / "tests" / "servers" / "catalog",  # what their builds leave
    Path(__file__),
)
SAYS_NOTHING = {"told", "one", "found", "thing"}  # names of variables and functions
NAMED = re.compile(  # in Rust and JavaScript: what is bound to a name
    rf"(?:\b(?:let|const|var|fn|function|mut)\s+|\|)[(&]?({'|'.join(SAYS_NOTHING)})\b"
    rf"|\bfor\s+({'|'.join(SAYS_NOTHING)})\s+in\b|\b({'|'.join(SAYS_NOTHING)})\)?\s*=>"
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


def names(table: symtable.SymbolTable) -> Iterator[tuple[int, str]]:
    """Variables, parameters and functions, with the line of their scope. Fields are left out:
    their names stand in stored documents."""
    if table.get_type() != "class":
        for symbol in table.get_symbols():
            if symbol.is_assigned() or symbol.is_parameter():
                yield table.get_lineno(), symbol.get_name()
    for scope in table.get_children():
        yield from names(scope)


def named(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line number and name of what `text` binds to a name that says nothing."""
    if path.suffix == ".py":
        bound = names(symtable.symtable(text, str(path), "exec"))
        yield from ((line, name) for line, name in bound if name in SAYS_NOTHING)
    elif path.suffix in {".rs", ".js"}:
        for number, line in enumerate(text.splitlines(), 1):
            for match in NAMED.finditer(line.partition("//")[0]):
                yield number, next(filter(None, match.groups()))


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


def test_names_say_what_they_hold(texts: dict[Path, str]) -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, text in texts.items()
        for line, name in named(path, text)
    ]
    assert not places, "\n".join(places)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", "found = 1"),
        (".py", "def told(): pass"),
        (".py", "rows = [one.name for one in (1, 2)]"),
        (".py", "def f(one): pass"),
        (".py", "key = lambda one: one"),
        (".rs", "let mut found = 1;"),
        (".rs", "for one in rows"),
        (".rs", "rows.map(|one| one.name)"),
        (".js", "const told = 1;"),
        (".js", "rows.map((one) => one.name)"),
        (".js", "rows.map(one => one.name)"),
    ],
)
def test_finds_a_name_that_says_nothing(suffix: str, text: str) -> None:
    assert list(named(Path(f"made{suffix}"), text))


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", "class A:\n    found: int"),
        (".py", "call(one=1, text='found')"),
        (".rs", "let state = Found; // one of several"),
        (".js", "return one.found;"),
    ],
)
def test_leaves_other_uses_alone(suffix: str, text: str) -> None:
    assert not list(named(Path(f"made{suffix}"), text))


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
