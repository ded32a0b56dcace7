"""A catalog in the working directory or a parent is used only if no one else can change it."""

import os
from pathlib import Path

import pytest

from deadheat.catalog import catalog as module
from deadheat.catalog import find_root
from deadheat.catalog.catalog import distrust
from deadheat.errors import DeadheatError
from tests.catalog.conftest import Folders

ANOTHER = 4242
SHIPPED = Path(__file__).parents[2]


@pytest.fixture
def own(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog of this user with one server; the working directory is below it."""
    folders.server()
    folders.recipe("about = 'x'")
    below = folders.root / "servers" / "plain"
    monkeypatch.chdir(below)
    monkeypatch.delenv("DEADHEAT_CATALOG", raising=False)
    for path in (folders.root, *folders.root.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o022)
    return folders.root


def test_trusts_a_catalog_of_this_user(own: Path) -> None:
    assert distrust(own) is None
    assert find_root() == own


@pytest.mark.parametrize(
    "path", [".", "servers", "recipes", "servers/plain", "servers/plain/server.toml"]
)
def test_distrusts_a_catalog_that_everyone_can_write(own: Path, path: str) -> None:
    """Regression: `list` ran the probes of a catalog that it found in /tmp."""
    (own / path).chmod(0o777)
    with pytest.raises(DeadheatError, match="is not trusted: everyone can write") as caught:
        find_root()
    assert str(own / path) in str(caught.value)
    assert caught.value.hint == f"if you trust its commands: --catalog {own}"


def test_uses_a_distrusted_catalog_that_the_user_names(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.chmod(0o777)
    assert find_root(str(own)) == own
    monkeypatch.setenv("DEADHEAT_CATALOG", str(own))
    assert find_root() == own
    assert find_root(str(SHIPPED)) == SHIPPED


def test_distrusts_a_catalog_of_another_user(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_trusted_users", lambda: {ANOTHER})
    assert f"{own} belongs to user " in (distrust(own) or "")


def test_distrusts_a_link_to_a_file_that_everyone_can_write(own: Path) -> None:
    shared = own / "shared.toml"  # in no part of the catalog
    shared.write_text("about = 'x'")
    shared.chmod(0o666)
    (own / "recipes" / "shared.toml").symlink_to(shared)
    assert "everyone can write" in (distrust(own) or "")


def test_distrusts_a_group_with_other_members_only(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "recipes").chmod(0o775)
    monkeypatch.setattr(module, "_group", lambda _: ("staff", frozenset({os.geteuid(), ANOTHER})))
    assert distrust(own) == f"group staff can write {own / 'recipes'}"
    monkeypatch.setattr(module, "_group", lambda _: ("mine", frozenset({os.geteuid()})))
    assert distrust(own) is None
    monkeypatch.setattr(module, "_group", lambda _: ("77", None))
    assert distrust(own) == f"group 77 can write {own / 'recipes'}"


def test_trusts_the_user_who_called_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(ANOTHER))
    assert ANOTHER in module._trusted_users()
    monkeypatch.setattr(os, "geteuid", lambda: 7)
    assert module._trusted_users() == {0, 7}
