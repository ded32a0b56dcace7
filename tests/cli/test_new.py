"""`deadheat new`."""

import shutil
from pathlib import Path

import pytest

from deadheat.catalog import load_catalog
from tests.cli.conftest import Deadheat
from tests.servers.contenders import CATALOG

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A writable copy of the catalog."""
    return Path(shutil.copytree(CATALOG, tmp_path / "own"))


def test_a_new_server_passes_verify_unchanged(deadheat: Deadheat, own: Path) -> None:
    made = deadheat("new", "mine", "--like", "hello", "--catalog", str(own))
    assert made.code == 0
    assert "server.toml" in made.out
    assert "deadheat verify mine" in made.out
    ended = deadheat("verify", "mine", "--catalog", str(own))
    assert (ended.code, ended.out.split()[:2]) == (0, ["ok", "mine"])


@pytest.mark.parametrize(
    ("name", "like", "symptom", "hint"),
    [
        ("hello", "hello", "hello", "choose another name"),
        ("My Server", "hello", "My Server", "use lower-case letters"),
        ("mine", "helo", "helo", "did you mean hello?"),
        ("mine", "wrong-*", "matches 2 servers", "choose one: wrong-body, wrong-media-type"),
    ],
)
def test_rejects_a_bad_name_or_source(
    deadheat: Deadheat, own: Path, name: str, like: str, symptom: str, hint: str
) -> None:
    ended = deadheat("new", name, "--like", like, "--catalog", str(own))
    assert ended.code == 1
    assert symptom in ended.err
    assert ended.hint.startswith(hint)


def test_a_new_server_has_no_published_rows(deadheat: Deadheat, tmp_path: Path) -> None:
    for part in ("servers/python-gunicorn-flask", "recipes"):
        shutil.copytree(ROOT / part, tmp_path / "real" / part)
    real = str(tmp_path / "real")
    assert deadheat("new", "mine", "--like", "python-gunicorn-flask", "--catalog", real).code == 0
    servers = load_catalog(tmp_path / "real").servers
    assert servers["python-gunicorn-flask"].manifest.published
    assert not servers["mine"].manifest.published
    assert set(servers["mine"].manifest.settings) == {"published"}
