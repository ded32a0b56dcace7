"""Creates the folder of a new server from an existing one."""

import re
from pathlib import Path

from deadheat.catalog.folder import copy_folder
from deadheat.catalog.server import Server
from deadheat.errors import DeadheatError

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LINE = re.compile(r'^name = ".*"$', re.MULTILINE)


def copy_server(source: Server, name: str) -> Path:
    """Copy `source` to a new folder beside it; returns that folder.

    The manifest gets the new name and loses its published rows. Raises `DeadheatError` if the name
    is invalid or taken, or the folder cannot be written.
    """
    if not NAME.fullmatch(name):
        raise DeadheatError(
            f"{name!r} is not a valid server name", "use lower-case letters, digits and hyphens"
        )
    folder = source.folder.with_name(name)
    if folder.exists():
        raise DeadheatError(f"{folder} already exists", "choose another name")
    try:
        copy_folder(source.folder, folder)
        manifest = folder / "server.toml"
        manifest.write_text(_renamed(manifest.read_text("utf-8"), name), encoding="utf-8")
    except OSError as error:
        raise DeadheatError(
            f"{folder} cannot be written: {error.strerror}",
            "copy the catalog to a folder of yours and use --catalog DIR",
        ) from error
    return folder


def _renamed(manifest: str, name: str) -> str:
    """The text of the manifest with another name and without its published rows."""
    tables = re.split(r"(?m)^(?=\[)", NAME_LINE.sub(f'name = "{name}"', manifest, count=1))
    kept = [table for table in tables if not table.startswith("[[published]]")]
    return "".join(kept).rstrip() + "\n"
