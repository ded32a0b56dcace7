"""Creates the folder of a new server from an existing one."""

import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

from deadheat.catalog.layers import layered
from deadheat.catalog.server import Server, copy_folder
from deadheat.errors import DeadheatError, UsageFault

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LINE = re.compile(r'^name = ".*"$', re.MULTILINE)
FACTS = ("notes", "verified")  # keys that are about one server only
TABLES = ("[settings.", "[[published]]")  # likewise


def root_for_new(catalog_root: Path, named: str | None) -> Path:
    """The catalog that a new server belongs to: the current folder if no other is the user's.

    A catalog is the user's if it is `named`, by DEADHEAT_CATALOG too, or is the current folder or
    one of its parents. The one that deadheat is installed with is not.
    """
    here = Path.cwd()
    if named is not None or "DEADHEAT_CATALOG" in os.environ:
        return catalog_root
    return catalog_root if here.is_relative_to(catalog_root) else here


def copy_server(source: Server, name: str, root: Path) -> Path:
    """Copy `source` to `servers/NAME` of the catalog in `root`; returns that folder.

    The manifest gets the new name, and loses what is about the original only: notes, settings and
    published rows. A recipe that deadheat does not ship is copied, too.
    Raises `DeadheatError` if the name is invalid or taken, or the folder cannot be written.
    """
    if not NAME.fullmatch(name):
        raise UsageFault(
            f"{name!r} is not a valid server name", "use lower-case letters, digits and hyphens"
        )
    folder = root / "servers" / name
    if folder.exists():
        raise DeadheatError(f"{folder} already exists", "choose another name")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for recipe in (source.folder.parents[1] / "recipes").glob("*.toml"):
            if not layered(root, f"recipes/{recipe.name}").exists():
                (root / "recipes").mkdir(exist_ok=True)
                shutil.copy(recipe, root / "recipes")
        copy_folder(source.folder, folder)
        manifest = folder / "server.toml"
        text = without_facts(manifest.read_text("utf-8"))
        renamed = NAME_LINE.sub(f'name = "{name}"', text, count=1)
        manifest.write_text(renamed, encoding="utf-8")
    except OSError as error:
        raise DeadheatError(
            f"{folder} cannot be written: {error.strerror}",
            "go to a folder of yours, or name one with servers/ in it: --catalog DIR",
        ) from error
    return folder


def without_facts(manifest: str) -> str:
    """The text of the manifest without what is about one server only."""
    top, *tables = re.split(r"(?m)^(?=\[)", manifest)
    entries = (entry for entry in _entries(top) if not entry.startswith(FACTS))
    kept = (table for table in tables if not table.startswith(TABLES))
    return "".join([*entries, *kept]).rstrip() + "\n"


def _entries(top: str) -> Iterator[str]:
    """The keys before the first table, each with its value, which may have several lines."""
    entry = ""
    for line in top.splitlines(keepends=True):
        entry += line
        try:
            tomllib.loads(entry)
        except tomllib.TOMLDecodeError:
            continue
        yield entry
        entry = ""
    yield entry
