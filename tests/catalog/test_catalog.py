from collections import Counter
from pathlib import Path

import pytest

from deadheat.catalog import Catalog, FileFault, choose, find_root, load_catalog
from deadheat.catalog import catalog as catalog_module
from deadheat.errors import DeadheatError
from tests.catalog.conftest import MANIFEST, Folders

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No catalog lies behind that of a test."""
    monkeypatch.setattr(catalog_module, "shipped_root", lambda: None)


@pytest.fixture
def catalog(folders: Folders) -> Catalog:
    for name, language in (("go-gin", "Go"), ("go-plain", "Go"), ("node-http", "Node.js")):
        text = MANIFEST.replace('"plain"', f'"{name}"').replace('"Go"', f'"{language}"')
        folders.server(text, name)
    folders.server("name = 1\n", "go-broken")
    return load_catalog(folders.root)


def names(catalog: Catalog, *patterns: str, languages: tuple[str, ...] = ()) -> list[str]:
    return [server.name for server in choose(catalog, patterns, languages)]


def test_broken_manifest_is_listed_separately(catalog: Catalog) -> None:
    assert list(catalog.servers) == ["go-gin", "go-plain", "node-http"]
    assert list(catalog.faults) == ["go-broken"]


def test_chooses_by_name_glob_and_language(catalog: Catalog) -> None:
    assert names(catalog) == ["go-gin", "go-plain", "node-http"]
    assert names(catalog, "node-http", "go-gin") == ["node-http", "go-gin"]
    assert names(catalog, "*-plain", "go-plain") == ["go-plain"]
    assert names(catalog, languages=("go",)) == ["go-gin", "go-plain"]
    assert names(catalog, languages=("NODE.JS", "go")) == ["go-gin", "go-plain", "node-http"]
    assert names(catalog, "*-http", "*-gin", languages=("go",)) == ["go-gin"]


@pytest.mark.parametrize(
    ("patterns", "language", "fault", "hint"),
    [
        (
            ["go-jin", "node-http", "zzz"],
            None,
            "unknown servers 'go-jin', 'zzz' in ",
            "go-jin: did you mean go-gin or go-plain?",
        ),
        (["go-jin"], None, "unknown server 'go-jin'", "did you mean go-gin or go-plain?"),
        (["zzz"], None, "unknown server 'zzz'", "`deadheat list '*'` shows all servers"),
        ([], "node", "no server is written in 'node'", "did you mean node.js?"),
        ([], "Cobol", "no server is written in 'cobol'", "available: go, node.js"),
        (["go-gin"], "node.js", "none of go-gin is written in", "omit the names or the language"),
    ],
)
def test_a_choice_of_nothing_says_what_there_is(
    catalog: Catalog, patterns: list[str], language: str | None, fault: str, hint: str
) -> None:
    with pytest.raises(DeadheatError, match=fault) as caught:
        choose(catalog, patterns, [language] if language else [])
    assert caught.value.hint == hint


@pytest.mark.parametrize("pattern", ["go-broken", "*-broken", "go-*"])
def test_choosing_a_broken_manifest_raises_its_fault(catalog: Catalog, pattern: str) -> None:
    with pytest.raises(FileFault, match=r"go-broken/server\.toml:1"):
        names(catalog, pattern)


def test_rejects_root_without_servers(tmp_path: Path) -> None:
    with pytest.raises(DeadheatError, match="no servers/ in") as caught:
        find_root(str(tmp_path))
    assert caught.value.hint == "--catalog DIR is the folder that contains servers/"


def test_reads_every_shipped_server() -> None:
    catalog = load_catalog(HERE)
    assert {name: str(fault) for name, fault in catalog.faults.items()} == {}
    assert len(catalog.servers) >= 8
    speaking = Counter(each for s in catalog.servers.values() for each in s.manifest.transports)
    assert speaking["https"] >= 35
    assert speaking["h2"] >= 18
