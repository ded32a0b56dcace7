"""A new server's folder, made from one that works."""

import re
import shutil
from pathlib import Path

from deadheat.catalog.server import Server
from deadheat.errors import DeadheatError

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LINE = re.compile(r'^name = ".*"$', re.MULTILINE)
LEFT_BEHIND = ("node_modules", "target", "__pycache__", ".venv")


def copy_server(source: Server, name: str) -> Path:
    """Copy `source` to a folder of its own, beside it; returns that folder.

    The manifest gets the new name, and loses the published rows: nothing was published of a new
    server. Raises `DeadheatError` where the name is none, or taken, or the place cannot be written.
    """
    if not NAME.fullmatch(name):
        raise DeadheatError(
            f"{name!r} is not a server's name", "use lower-case letters, digits and hyphens"
        )
    folder = source.folder.with_name(name)
    if folder.exists():
        raise DeadheatError(f"{folder} is there already", "choose another name")
    try:
        shutil.copytree(source.folder, folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        manifest = folder / "server.toml"
        manifest.write_text(_renamed(manifest.read_text("utf-8"), name), encoding="utf-8")
    except OSError as error:
        raise DeadheatError(
            f"{folder} cannot be written: {error.strerror}",
            "copy the catalog to a place of yours, and name it with --catalog DIR",
        ) from error
    return folder


def _renamed(manifest: str, name: str) -> str:
    """The manifest's text with another name, and without its published rows."""
    tables = re.split(r"(?m)^(?=\[)", NAME_LINE.sub(f'name = "{name}"', manifest, count=1))
    kept = [table for table in tables if not table.startswith("[[published]]")]
    return "".join(kept).rstrip() + "\n"
