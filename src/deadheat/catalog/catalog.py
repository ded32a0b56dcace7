"""The catalog: every server there is, found and chosen by name, glob or language."""

import difflib
import fnmatch
import os
import sys
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
    shared = Path(sys.prefix) / "share" / "deadheat"
    places = [here, *here.parents, Path(__file__).resolve().parents[3], shared]
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

    Raises `DeadheatError` naming the nearest names, or the manifest's fault.
    """
    chosen: dict[str, Server] = {}
    for pattern in patterns:
        if pattern in catalog.faults:
            raise catalog.faults[pattern]
        matched = fnmatch.filter(catalog.servers, pattern)
        if not matched:
            known = [*catalog.servers, *catalog.faults]
            near = difflib.get_close_matches(pattern, known, n=3, cutoff=0.5)
            raise DeadheatError(
                f"unknown server {pattern!r}",
                f"did you mean {' or '.join(near)}?" if near else "`deadheat list` shows them all",
            )
        chosen.update({name: catalog.servers[name] for name in matched})
    pool = chosen if chosen else dict(catalog.servers)
    wanted = [language.lower() for language in languages]
    known_languages = {server.manifest.language.lower() for server in catalog.servers.values()}
    for language in wanted:
        if language not in known_languages:
            raise DeadheatError(
                f"--language: no server is written in {language!r}",
                f"there is {', '.join(sorted(known_languages))}",
            )
    return [s for s in pool.values() if not wanted or s.manifest.language.lower() in wanted]
