from pathlib import Path

import pytest

from deadheat.catalog import Catalog, FileFault, choose, find_root, load_catalog
from deadheat.errors import DeadheatError
from tests.catalog.conftest import MANIFEST, Folders

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def catalog(folders: Folders) -> Catalog:
    for name, language in (("go-gin", "Go"), ("go-plain", "Go"), ("node-http", "Node.js")):
        text = MANIFEST.replace('"plain"', f'"{name}"').replace('"Go"', f'"{language}"')
        folders.server(text, name)
    folders.server("name = 1\n", "go-broken")
    return load_catalog(folders.root)


def names(catalog: Catalog, *patterns: str, languages: tuple[str, ...] = ()) -> list[str]:
    return [server.name for server in choose(catalog, patterns, languages)]


def test_a_broken_manifest_is_kept_apart(catalog: Catalog) -> None:
    assert list(catalog.servers) == ["go-gin", "go-plain", "node-http"]
    assert list(catalog.faults) == ["go-broken"]


def test_choosing(catalog: Catalog) -> None:
    assert names(catalog) == ["go-gin", "go-plain", "node-http"]
    assert names(catalog, "node-http", "go-gin") == ["node-http", "go-gin"]
    assert names(catalog, "*-plain", "go-plain") == ["go-plain"]
    assert names(catalog, languages=("go",)) == ["go-gin", "go-plain"]
    assert names(catalog, languages=("NODE.JS", "go")) == ["go-gin", "go-plain", "node-http"]
    assert names(catalog, "*-http", "*-gin", languages=("go",)) == ["go-gin"]


def test_an_unknown_name_is_told_with_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match="unknown server 'go-jin'") as caught:
        names(catalog, "go-jin")
    assert caught.value.hint is not None
    assert "go-gin" in caught.value.hint


def test_a_name_like_no_other_is_told_where_to_look(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match="unknown server 'zzz'") as caught:
        names(catalog, "zzz")
    assert caught.value.hint == "`deadheat list` shows them all"


@pytest.mark.parametrize("pattern", ["go-broken", "*-broken", "go-*"])
def test_a_broken_manifest_that_was_meant_is_never_left_out_silently(
    catalog: Catalog, pattern: str
) -> None:
    with pytest.raises(FileFault, match=r"go-broken/server\.toml:1"):
        names(catalog, pattern)


def test_an_unknown_language_names_those_there_are(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match="no server is written in 'cobol'") as caught:
        names(catalog, languages=("Cobol",))
    assert caught.value.hint == "there is go, node.js"


def test_names_and_a_language_that_exclude_each_other(catalog: Catalog) -> None:
    with pytest.raises(DeadheatError, match=r"none of go-gin is written in node\.js"):
        names(catalog, "go-gin", languages=("node.js",))


def test_the_root_is_found_from_below(monkeypatch: pytest.MonkeyPatch, folders: Folders) -> None:
    monkeypatch.delenv("DEADHEAT_CATALOG", raising=False)
    inside = folders.server()
    monkeypatch.chdir(inside)
    assert find_root() == folders.root


def test_the_environment_and_the_flag_go_first(
    monkeypatch: pytest.MonkeyPatch, folders: Folders
) -> None:
    monkeypatch.setenv("DEADHEAT_CATALOG", str(folders.root))
    assert find_root() == folders.root
    assert find_root(str(HERE)) == HERE


def test_a_root_without_servers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeadheatError, match="no servers/ in") as caught:
        find_root(str(tmp_path))
    assert caught.value.hint == "--catalog takes the folder that holds servers/"


def test_every_server_of_this_repository_can_be_read() -> None:
    catalog = load_catalog(HERE)
    assert {name: str(fault) for name, fault in catalog.faults.items()} == {}
    assert len(catalog.servers) >= 8
