"""`deadheat new`: a copy that verifies as it is."""

import shutil
from pathlib import Path

import pytest

from deadheat.catalog import load_catalog
from tests.cli.conftest import Deadheat
from tests.servers.contenders import CATALOG

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A catalog that may be written."""
    return Path(shutil.copytree(CATALOG, tmp_path / "own"))


def test_a_new_server_verifies_unchanged(deadheat: Deadheat, own: Path) -> None:
    made = deadheat("new", "mine", "--like", "hello", "--catalog", str(own))
    assert made.code == 0
    assert "server.toml" in made.out
    assert "deadheat verify mine" in made.out
    ended = deadheat("verify", "mine", "--catalog", str(own))
    assert (ended.code, ended.out.split()[:2]) == (0, ["ok", "mine"])


@pytest.mark.parametrize(
    ("name", "like", "told", "way_out"),
    [
        ("hello", "hello", "already exists", "choose another name"),
        ("My Server", "hello", "is not a valid server name", "use lower-case letters"),
        ("mine", "helo", "unknown server 'helo'", "did you mean hello?"),
        ("mine", "wrong-*", "means wrong-body, wrong-media-type", "name one of them"),
    ],
)
def test_what_cannot_be_made_is_told(
    deadheat: Deadheat, own: Path, name: str, like: str, told: str, way_out: str
) -> None:
    ended = deadheat("new", name, "--like", like, "--catalog", str(own))
    assert ended.code == 1
    assert told in ended.err
    assert ended.way_out.startswith(way_out)


def test_nothing_was_published_of_a_new_server(deadheat: Deadheat, tmp_path: Path) -> None:
    for part in ("servers/python-gunicorn-flask", "recipes"):
        shutil.copytree(ROOT / part, tmp_path / "real" / part)
    real = str(tmp_path / "real")
    assert deadheat("new", "mine", "--like", "python-gunicorn-flask", "--catalog", real).code == 0
    servers = load_catalog(tmp_path / "real").servers
    assert servers["python-gunicorn-flask"].manifest.published
    assert not servers["mine"].manifest.published
    assert set(servers["mine"].manifest.settings) == {"published"}
