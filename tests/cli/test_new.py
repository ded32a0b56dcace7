"""`deadheat new`."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deadheat.catalog import catalog, layers, load_catalog, server
from deadheat.catalog.new import HELLO, without_facts
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
    again = deadheat("new", "mine", "--like", "hello", "--catalog", str(own))
    assert (again.code, again.hint) == (1, "choose another name")
    ended = deadheat("verify", "mine", "--catalog", str(own))
    assert (ended.code, ended.out.split()[:2]) == (0, ["ok", "mine"])


def test_a_new_server_states_no_facts_of_the_original(deadheat: Deadheat, tmp_path: Path) -> None:
    for part in ("servers/python-gunicorn-flask", "recipes"):
        shutil.copytree(ROOT / part, tmp_path / "real" / part)
    real = str(tmp_path / "real")
    assert deadheat("new", "mine", "--like", "python-gunicorn-flask", "--catalog", real).code == 0
    servers = load_catalog(tmp_path / "real").servers
    original, copy = servers["python-gunicorn-flask"].manifest, servers["mine"].manifest
    assert all((original.published, original.notes, original.settings))
    assert not any((copy.published, copy.notes, copy.settings))
    assert copy.start == original.start


def test_nothing_else_is_left_out_of_any_manifest() -> None:
    about_one = {"notes", "verified", "settings", "transports", "published"}
    for path in (ROOT / "servers").glob("*/server.toml"):
        text = path.read_text()
        kept = {key: value for key, value in tomllib.loads(text).items() if key not in about_one}
        assert tomllib.loads(without_facts(text)) == kept, path


def test_without_a_catalog_of_the_user_the_current_folder_becomes_one(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a wheel's `new` wrote into site-packages."""
    shipped = Path(shutil.copytree(CATALOG, tmp_path / "site-packages" / "shipped"))
    before = sorted(shipped.rglob("*"))
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    monkeypatch.chdir(mine)
    monkeypatch.delenv("DEADHEAT_CATALOG")
    for module in (catalog, layers, server):
        if hasattr(module, "shipped_root"):
            monkeypatch.setattr(module, "shipped_root", lambda: shipped)
    made = deadheat("new", "first", "--like", "hello")
    assert (made.code, made.err) == (0, "")
    assert "servers/first/server.toml" in made.out.splitlines()
    assert not (mine / "recipes").exists()
    next_command = made.out.splitlines()[-1].partition("run: deadheat ")[2]
    assert next_command == "verify first"
    assert deadheat(*next_command.split()).code == 0
    assert sorted(shipped.rglob("*")) == before
    # Regression: the new catalog hid the one that deadheat ships.
    planned = deadheat("plan", "first", "hello", "--protocol", "brief")
    assert (planned.code, planned.err) == (0, "")
    listed = deadheat("list")
    assert "first" in listed.out
    assert "more servers of deadheat: deadheat list '*'" in listed.out.replace("\n", " ")
    unknown = deadheat("plan", "helo", "--protocol", "brief")
    assert f"unknown server 'helo' in {mine}/servers and {shipped}/servers" in unknown.err


@pytest.mark.parametrize("language", HELLO)
def test_hello_writes_the_smallest_application(
    deadheat: Deadheat, own: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    """The copied application of Go has 187 lines, for all workloads."""
    monkeypatch.delenv("DEADHEAT_CATALOG")
    shutil.copytree(ROOT / "recipes", own / "recipes", dirs_exist_ok=True)
    for name, _, _ in HELLO.values():
        shutil.copytree(ROOT / "servers" / name, own / "servers" / name)
    made = deadheat("new", "mine", "--hello", language, "--catalog", str(own))
    assert made.code == 0, made.err
    folder = own / "servers" / "mine"
    _, files, _ = HELLO[language]
    assert max(len((folder / name).read_text().splitlines()) for name in files) < 20
    assert load_catalog(own).servers["mine"].manifest.workloads == ("hello",)
    start = {
        "go": (str(folder / "server"), "127.0.0.1:{port}"),
        "node": ("node", str(folder / "server.mjs"), "127.0.0.1", "{port}", "1"),
        "python": (
            *(sys.executable, "-m", "uvicorn", "app:app", "--app-dir", str(folder)),
            *("--port", "{port}", "--lifespan", "off"),
        ),
    }[language]
    if language != "python" and shutil.which(language) is None:
        pytest.skip(f"{language} is not installed")
    if language == "go":
        subprocess.run(["go", "build", "-o", "server", "."], cwd=folder, check=True)
    ended = deadheat("verify", "--load", "3", "--", *start)
    assert (ended.code, "unknown path 404" in ended.out) == (0, True), (ended.out, ended.err)
