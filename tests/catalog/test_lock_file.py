"""Lock files in which each package has a hash, and those in which one has none."""

from pathlib import Path

import pytest

from deadheat.catalog import Server, load_server
from deadheat.catalog.lock_file import LockFault, check_locks
from tests.servers.contenders import CATALOG

ROOT = Path(__file__).parents[2]
HASH = "0" * 64
NPM = '{"packages": {"": {}, "node_modules/koa": %s}}'
CARGO = '[[package]]\nname = "hyper"\nversion = "1"\nsource = "registry"\n%s\n'
MIX = '%%{\n  "cowboy": {:hex, :cowboy, "2.16.1", %s},\n}\n'


def server_with(folder: Path, files: dict[str, str], build: str = "") -> Server:
    manifest = (CATALOG / "servers" / "hello" / "server.toml").read_text()
    server = folder / "hello"
    server.mkdir()
    (server / "server.toml").write_text(manifest + build)
    for name, text in files.items():
        (server / name).write_text(text)
    return load_server(server, CATALOG / "recipes")


@pytest.mark.parametrize(
    ("declaration", "lock", "hashed", "unhashed"),
    [
        (
            "requirements.in",
            "requirements.lock",
            f"flask==3 \\\n    --hash=sha256:{HASH}\n",
            "flask==3\n",
        ),
        ("package.json", "package-lock.json", NPM % '{"integrity": "sha512-A"}', NPM % "{}"),
        ("Cargo.toml", "Cargo.lock", CARGO % f'checksum = "{HASH}"', CARGO % ""),
        ("pom.xml", "jars.lock", f"{HASH}  lib/jetty.jar\n", "lib/jetty.jar\n"),
        ("mix.exs", "mix.lock", MIX % f'"{HASH}"', MIX % "[:make]"),
    ],
)
def test_each_package_needs_a_hash(
    tmp_path: Path, declaration: str, lock: str, hashed: str, unhashed: str
) -> None:
    server = server_with(tmp_path, {declaration: "", lock: hashed})
    assert check_locks(server) == f"{lock}: 1 package, with a hash"
    (server.folder / lock).write_text(unhashed)
    with pytest.raises(LockFault, match="no hash for"):
        check_locks(server)


def test_a_go_module_needs_a_sum_for_each_requirement(tmp_path: Path) -> None:
    module = "module hello\n\nrequire example.org/mux v1.8.1\n"
    server = server_with(tmp_path, {"go.mod": module, "go.sum": "example.org/mux v1.8.1 h1:A=\n"})
    assert "1 package," in check_locks(server)
    (server.folder / "go.sum").write_text("example.org/mux v1.8.0 h1:A=\n")
    with pytest.raises(LockFault, match=r"no hash for example\.org/mux"):
        check_locks(server)


def test_a_declaration_needs_a_lock_file(tmp_path: Path) -> None:
    with pytest.raises(LockFault, match=r"requirements\.lock: No such file"):
        check_locks(server_with(tmp_path, {"requirements.in": "flask\n"}))


def test_an_unreadable_lock_file_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(LockFault, match=r"package-lock\.json: not readable"):
        check_locks(server_with(tmp_path, {"package.json": "{}", "package-lock.json": "[]"}))


def test_a_download_needs_a_lock_file(tmp_path: Path) -> None:
    build = '\n[build]\nsteps = [["sh", "-c", "curl -O https://example.org/hello.tar"]]\n'
    with pytest.raises(LockFault, match="no lock file, and the build runs `curl`"):
        check_locks(server_with(tmp_path, {}, build))


def test_a_build_without_downloads_needs_none(tmp_path: Path) -> None:
    assert check_locks(server_with(tmp_path, {})) == "none needed: the build downloads nothing"


def test_a_hash_in_the_steps_is_a_lock(tmp_path: Path) -> None:
    """Else a server whose recipe installs a runtime by its hash would need a lock file."""
    steps = f'[build]\nsteps = [["pip", "install", "a==1 --hash=sha256:{HASH}"]]\n'
    assert "hold the hash" in check_locks(server_with(tmp_path, {}, steps))
