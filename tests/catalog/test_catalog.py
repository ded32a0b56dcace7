from collections import Counter
from pathlib import Path

import pytest

from deadheat.catalog import Catalog, FileFault, choose, find_root, load_catalog
from deadheat.catalog import catalog as catalog_module
from deadheat.errors import DeadheatError, UsageFault
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


def test_all_unknown_names_are_reported_at_once(catalog: Catalog) -> None:
    with pytest.raises(UsageFault, match="unknown servers 'go-jin', 'zzz' in ") as caught:
        names(catalog, "go-jin", "node-http", "zzz")
    assert caught.value.hint == "go-jin: did you mean go-gin or go-plain?"


def test_the_beginning_of_a_language_suggests_it(catalog: Catalog) -> None:
    with pytest.raises(UsageFault, match="no server is written in 'node'") as caught:
        names(catalog, languages=("node",))
    assert caught.value.hint == "did you mean node.js?"


def test_unknown_name_suggests_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match="unknown server 'go-jin'") as caught:
        names(catalog, "go-jin")
    assert caught.value.hint is not None
    assert "go-gin" in caught.value.hint


def test_unknown_name_without_a_similar_one_suggests_list(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match="unknown server 'zzz'") as caught:
        names(catalog, "zzz")
    assert caught.value.hint == "`deadheat list '*'` shows all servers"


@pytest.mark.parametrize("pattern", ["go-broken", "*-broken", "go-*"])
def test_choosing_a_broken_manifest_raises_its_fault(catalog: Catalog, pattern: str) -> None:
    with pytest.raises(FileFault, match=r"go-broken/server\.toml:1"):
        names(catalog, pattern)


def test_unknown_language_lists_the_available_ones(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match="no server is written in 'cobol'") as caught:
        names(catalog, languages=("Cobol",))
    assert caught.value.hint == "available: go, node.js"


def test_rejects_names_without_the_language(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match=r"none of go-gin is written in node\.js"):
        names(catalog, "go-gin", languages=("node.js",))


def test_finds_root_from_a_subfolder(monkeypatch: pytest.MonkeyPatch, folders: Folders) -> None:
    monkeypatch.delenv("DEADHEAT_CATALOG", raising=False)
    inside = folders.server()
    monkeypatch.chdir(inside)
    assert find_root() == folders.root


def test_flag_and_environment_take_precedence(
    monkeypatch: pytest.MonkeyPatch, folders: Folders
) -> None:
    monkeypatch.setenv("DEADHEAT_CATALOG", str(folders.root))
    assert find_root() == folders.root
    assert find_root(str(HERE)) == HERE


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
