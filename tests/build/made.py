"""A server for tests."""

from pathlib import Path

from deadheat.catalog import Server, load_server

MANIFEST = """\
name = "{name}"
language = "None"
framework = "made"
kind = "server"
homepage = "https://example.org"

[version]
command = ["made", "--version", "{{build}}"]

[[needs]]
tool = "maker"
probe = ["maker", "--version"]
install = "get maker"

[build]
steps = [["maker", "first", "{{build}}"], ["maker", "second"]]
env = {{ OUT = "{{build}}/out" }}

[start]
command = ["{name}", "{{host}}:{{port}}"]
worker = "process"
ready_s = 5
keep_alive = true
connection_close = "closes"
backlog = "system"
"""


def made_server(root: Path, name: str = "made", manifest: str = MANIFEST) -> Server:
    """A folder with a manifest, a source file and a file that no build uses."""
    folder = root / "servers" / name
    (folder / "node_modules").mkdir(parents=True)
    (folder / "server.toml").write_text(manifest.format(name=name))
    (folder / "main.c").write_text("int main;\n")
    (folder / "node_modules" / "left-over").write_text("")
    return load_server(folder, root / "recipes")
