"""Lock files in which each package has a hash, and those in which one has none."""

from pathlib import Path

import pytest

from deadheat.catalog import load_catalog
from deadheat.catalog.lock_file import LockFault, check_locks
from tests.catalog.conftest import server_with

ROOT = Path(__file__).parents[2]
HASH = "0" * 64
NPM = '{"packages": {"": {}, "node_modules/koa": %s}}'
CARGO = '[[package]]\nname = "hyper"\nversion = "1"\nsource = "registry"\n%s\n'
MIX = '%%{\n  "cowboy": {:hex, :cowboy, "2.16.1", %s},\n}\n'


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
        ("go.mod", "go.sum", "example.org/mux v1.8 h1:A=\n", "example.org/mux v1.7 h1:A=\n"),
        ("pom.xml", "jars.lock", f"{HASH}  lib/jetty.jar\n", "lib/jetty.jar\n"),
        ("mix.exs", "mix.lock", MIX % f'"{HASH}"', MIX % "[:make]"),
    ],
)
def test_each_package_needs_a_hash(
    tmp_path: Path, declaration: str, lock: str, hashed: str, unhashed: str
) -> None:
    text = "module hello\n\nrequire example.org/mux v1.8\n" if lock == "go.sum" else ""
    server = server_with(tmp_path, {declaration: text, lock: hashed})
    assert check_locks(server) == f"{lock}: 1 package, with a hash"
    (server.folder / lock).write_text(unhashed)
    with pytest.raises(LockFault, match="no hash for"):
        check_locks(server)


DOWNLOADS = '\n[build]\nsteps = [["sh", "-c", "curl -O https://example.org/hello.tar"]]\n'


@pytest.mark.parametrize(
    ("files", "build", "fault"),
    [
        ({"requirements.in": "flask\n"}, "", r"requirements\.lock: No such file"),
        (
            {"package.json": "{}", "package-lock.json": "[]"},
            "",
            r"package-lock\.json: not readable",
        ),
        ({}, DOWNLOADS, "no lock file, and the build runs `curl`"),
    ],
)
def test_a_declaration_or_a_download_needs_a_lock_file(
    tmp_path: Path, files: dict[str, str], build: str, fault: str
) -> None:
    with pytest.raises(LockFault, match=fault):
        check_locks(server_with(tmp_path, files, build))


@pytest.mark.parametrize(
    ("build", "reading"),
    [
        ("", "none needed: the build downloads nothing"),
        (
            f'[build]\nsteps = [["pip", "install", "a==1 --hash=sha256:{HASH}"]]\n',
            "none needed: the build's steps hold the hash of what they download",
        ),
    ],
)
def test_a_build_without_downloads_or_with_their_hash_needs_none(
    tmp_path: Path, build: str, reading: str
) -> None:
    """The recipe of a server may install a runtime by its hash."""
    assert check_locks(server_with(tmp_path, {}, build)) == reading


MIX_LOCK = """%{
  "plug": {:hex, :plug, "1", "HASH", [:mix], [{:mime, "~> 1.0", [hex: :mime, optional: false]},\
 {:telemetry, "~> 1.0", [hex: :telemetry, optional: true]}], "hexpm", "HASH"},
}
""".replace("\\\n", "").replace("HASH", HASH)


def test_a_dependency_that_mix_lock_does_not_have_is_named(tmp_path: Path) -> None:
    """`mix deps.get --check-locked` of Elixir before 1.15 fetches it, without a hash."""
    declared = 'defp deps do\n  [{:plug, "== 1"}, {:bandit, "== 2"}]\nend\n'
    server = server_with(tmp_path, {"mix.exs": declared, "mix.lock": MIX_LOCK})
    with pytest.raises(LockFault, match=r"mix\.lock: no hash for bandit, mime$"):
        check_locks(server)


def test_a_nim_package_needs_a_commit(tmp_path: Path) -> None:
    pinned = f'requires "nim >= 1.6"\nrequires "https://example.org/jester#{HASH[:40]}"  # 1.0\n'
    server = server_with(tmp_path, {"hello.nimble": pinned})
    assert check_locks(server) == "hello.nimble: 1 package, with a hash"
    named = 'requires "nim >= 1.6", "jester == 0.6.0", "asynctools#0e6bdc3"\n'
    (server.folder / "hello.nimble").write_text(named)
    with pytest.raises(LockFault, match=r"no hash for jester == 0\.6\.0, asynctools#0e6bdc3$"):
        check_locks(server)


def test_the_systems_of_quicklisp_are_named(tmp_path: Path) -> None:
    system = '(defsystem "hello"\n  :depends-on ("woo" :clack\n  "fast-io"))\n'
    build = '\n[build]\nsteps = [["sbcl", "--load", "quicklisp.lisp"]]\n'
    server = server_with(tmp_path, {"hello.asd": system}, build)
    with pytest.raises(LockFault, match=r"Quicklisp: no hash for woo, clack, fast-io$"):
        check_locks(server)


def test_the_shipped_servers_without_hashes_are_those_that_the_documents_name() -> None:
    unlocked = {}
    for server in load_catalog(ROOT).servers.values():
        try:
            check_locks(server)
        except LockFault as fault:
            unlocked[server.name] = str(fault)
    assert unlocked == {
        "lisp-woo": "Quicklisp: no hash for woo",
        "lisp-wookie": "Quicklisp: no hash for wookie",
    }
    page = (ROOT / "SECURITY.md").read_text()
    assert [name for name in unlocked if f"`{name}`" not in page] == []
