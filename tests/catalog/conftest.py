from pathlib import Path

import pytest

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
