"""The catalog: every server there is, found and chosen by name, glob or language."""

import difflib
import fnmatch
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deadheat.catalog.server import Server, load_server
from deadheat.catalog.toml_lines import FileFault
from deadheat.errors import DeadheatError


@dataclass(frozen=True, slots=True)
class Catalog:
    """Servers by name, and the faults of the folders that could not be read."""

    root: Path
    servers: Mapping[str, Server]
    faults: Mapping[str, FileFault]


def find_root(given: str | None = None) -> Path:
    """The folder that holds `servers/`, `recipes/` and `protocols/`.

    Looked for in: `given` (the flag), DEADHEAT_CATALOG, this folder and those above it, the
    checkout this package runs from, the installed package's own copy. Raises `DeadheatError`.
    """
    if given is not None or "DEADHEAT_CATALOG" in os.environ:
        place = Path(given or os.environ["DEADHEAT_CATALOG"]).resolve()
        if not (place / "servers").is_dir():
            raise DeadheatError(
                f"no servers/ in {place}", "--catalog takes the folder that holds servers/"
            )
        return place
    here = Path.cwd()
    package = Path(__file__).resolve().parents[1]
    places = [here, *here.parents, package.parents[1], package / "shipped"]
    for place in places:
        if (place / "servers").is_dir() and (place / "recipes").is_dir():
            return place
    raise DeadheatError(
        f"no catalog found: no folder above {here} holds servers/ and recipes/",
        "name one with --catalog DIR or DEADHEAT_CATALOG",
    )


def load_catalog(root: Path) -> Catalog:
    """Read every manifest below `root`. A folder with a fault is kept apart, with its reason."""
    servers: dict[str, Server] = {}
    faults: dict[str, FileFault] = {}
    for path in sorted((root / "servers").glob("*/server.toml")):
        try:
            servers[path.parent.name] = load_server(path.parent, root / "recipes")
        except FileFault as fault:
            faults[path.parent.name] = fault
    return Catalog(root, servers, faults)


def choose(
    catalog: Catalog, patterns: Iterable[str] = (), languages: Iterable[str] = ()
) -> list[Server]:
    """The servers that match any of the names or globs and any of the languages, all if none given.

    Raises `DeadheatError` naming the nearest names or the languages there are, `FileFault` for a
    manifest that was meant and cannot be read.
    """
    matched = [server for pattern in patterns for server in _matching(catalog, pattern)]
    pool = {server.name: server for server in matched} or dict(catalog.servers)
    wanted = [language.lower() for language in languages]
    written_in = {server.manifest.language.lower() for server in catalog.servers.values()}
    for language in wanted:
        if language not in written_in:
            raise DeadheatError(
                f"--language: no server is written in {language!r}",
                f"there is {', '.join(sorted(written_in))}",
            )
    chosen = [s for s in pool.values() if not wanted or s.manifest.language.lower() in wanted]
    if matched and not chosen:
        names = ", ".join(pool)
        raise DeadheatError(
            f"--language: none of {names} is written in {' or '.join(wanted)}",
            "leave out the names, or the language",
        )
    return chosen


def _matching(catalog: Catalog, pattern: str) -> list[Server]:
    for name in fnmatch.filter(catalog.faults, pattern):
        raise catalog.faults[name]
    names = fnmatch.filter(catalog.servers, pattern)
    if not names:
        near = difflib.get_close_matches(pattern, catalog.servers, n=3, cutoff=0.5)
        raise DeadheatError(
            f"unknown server {pattern!r}",
            f"did you mean {' or '.join(near)}?" if near else "`deadheat list` shows them all",
        )
    return [catalog.servers[name] for name in names]
