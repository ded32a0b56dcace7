from pathlib import Path

import pytest

from deadheat.catalog import Server, load_server
from deadheat.host import Completed
from deadheat.host.fake import FakeHost
from tests.servers.contenders import CATALOG

MANIFEST = """\
name = "plain"
language = "Go"
framework = "net/http"
kind = "server"
homepage = "https://example.org"

[version]
command = ["go", "version"]

[start]
command = ["{build}/server", "{host}:{port}"]
worker = "process"
keep_alive = true
connection_close = "closes"
backlog = "system"
"""


def answering(stdout: str = "", stderr: str = "", exit_code: int = 0) -> FakeHost:
    """A host on which every command ends like this."""
    host = FakeHost()
    host.on_run(lambda _: True, lambda *_: Completed(exit_code, stdout, stderr, 0.1, 0.1))
    return host


def server_with(folder: Path, files: dict[str, str], build: str = "") -> Server:
    """The server `hello` of the test catalog with more files, and more lines in its manifest."""
    server = folder / "servers" / "hello"
    server.mkdir(parents=True)
    manifest = (CATALOG / "servers" / "hello" / "server.toml").read_text()
    for name, text in {"server.toml": manifest + build, **files}.items():
        (server / name).write_text(text)
    return load_server(server, CATALOG / "recipes")


class Folders:
    """A catalog that a test fills."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.recipes = root / "recipes"
        self.recipes.mkdir()
        (root / "servers").mkdir()

    def server(self, text: str = MANIFEST, name: str = "plain") -> Path:
        folder = self.root / "servers" / name
        folder.mkdir()
        (folder / "server.toml").write_text(text)
        return folder

    def recipe(self, text: str, name: str = "family") -> None:
        (self.recipes / f"{name}.toml").write_text(text)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)
