"""The catalog of servers: found, trusted, and chosen by name, glob or language."""

import difflib
import fnmatch
import functools
import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deadheat.catalog.server import Server, load_server
from deadheat.catalog.toml_lines import FileFault
from deadheat.errors import DeadheatError

PARTS = ("servers", "recipes", "protocols", "published")
SKIPPED = {"node_modules", "target", "__pycache__", ".venv"}  # no build uses them


@dataclass(frozen=True, slots=True)
class Catalog:
    """Servers by name, and the faults of the folders that could not be read."""

    root: Path
    servers: Mapping[str, Server]
    faults: Mapping[str, FileFault]


def find_root(given: str | None = None) -> Path:
    """The folder that holds `servers/`, `recipes/` and `protocols/`.

    Searched in order: `given` (the flag), DEADHEAT_CATALOG, the current folder and its parents,
    the checkout of this package, the copy in the installed package. Raises `DeadheatError`, also
    for a folder that is found but that another user owns or can write.
    """
    if given is not None or "DEADHEAT_CATALOG" in os.environ:
        place = Path(given or os.environ["DEADHEAT_CATALOG"]).resolve()
        if not (place / "servers").is_dir():
            raise DeadheatError(
                f"no servers/ in {place}", "--catalog DIR is the folder that contains servers/"
            )
        return place
    here = Path.cwd()
    package = Path(__file__).resolve().parents[1]
    shipped = (package.parents[1], package / "shipped")  # trusted like this code
    for place in (here, *here.parents, *shipped):
        if (place / "servers").is_dir() and (place / "recipes").is_dir():
            if place not in shipped and (reason := distrust(place)):
                raise DeadheatError(
                    f"the catalog in {place} is not trusted: {reason}",
                    f"if you trust its commands: --catalog {shlex.quote(str(place))}",
                )
            return place
    raise DeadheatError(
        f"no catalog: neither {here} nor a parent contains servers/ and recipes/",
        "use --catalog DIR or set DEADHEAT_CATALOG",
    )


def load_catalog(root: Path) -> Catalog:
    """Read every manifest below `root`. Folders with a fault are listed separately."""
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
    """The servers that match one of the names or globs and one of the languages.

    Without patterns or languages, all match. Raises `DeadheatError` with the nearest names or the
    available languages, and `FileFault` for a matching manifest that cannot be read.
    """
    matched = [server for pattern in patterns for server in _matching(catalog, pattern)]
    pool = {server.name: server for server in matched} or dict(catalog.servers)
    wanted = [language.lower() for language in languages]
    written_in = {server.manifest.language.lower() for server in catalog.servers.values()}
    for language in wanted:
        if language not in written_in:
            raise DeadheatError(
                f"--language: no server is written in {language!r}",
                f"available: {', '.join(sorted(written_in))}",
            )
    chosen = [s for s in pool.values() if not wanted or s.manifest.language.lower() in wanted]
    if matched and not chosen:
        names = ", ".join(pool)
        raise DeadheatError(
            f"--language: none of {names} is written in {' or '.join(wanted)}",
            "omit the names or the language",
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
            f"did you mean {' or '.join(near)}?" if near else "`deadheat list` shows all servers",
        )
    return [catalog.servers[name] for name in names]


def distrust(root: Path) -> str | None:
    """Why the catalog in `root` is not trusted: a file that another user owns or can write.

    None if the user or root owns all of it, and no one else can write to it.
    """
    trusted = _trusted_users()
    for path in _paths(root):
        try:
            states = (path.lstat(), path.stat())
        except OSError as error:
            return f"{path} cannot be checked: {error.strerror}"
        for state in states:
            if state.st_uid not in trusted:
                return f"{path} belongs to {_user(state.st_uid)}"
            if not stat.S_ISLNK(state.st_mode) and (reason := _writer(path, state, trusted)):
                return f"{reason} can write {path}"
    return None


def _trusted_users() -> set[int]:
    """This user, root, and the user who called sudo."""
    users = {0, os.geteuid()}
    if os.geteuid() == 0 and (caller := os.environ.get("SUDO_UID", "")).isdecimal():
        users.add(int(caller))
    return users


def _paths(root: Path) -> Iterator[Path]:
    yield root
    for part in PARTS:
        if (root / part).is_dir():
            yield root / part
            for folder, folders, files in os.walk(root / part):
                folders[:] = [name for name in folders if name not in SKIPPED]
                yield from (Path(folder, name) for name in (*folders, *files))
    yield from (root / "servers").glob("*/server.toml")  # os.walk does not follow links


def _writer(path: Path, state: os.stat_result, trusted: set[int]) -> str | None:
    """Who else can write the file; None if no one can."""
    if state.st_mode & stat.S_IWOTH:
        return "everyone"
    if not state.st_mode & stat.S_IWGRP:
        return None
    if _has_access_list(path):
        return "a user in its access control list (see getfacl)"
    # Many systems let the group write each new file, and give each user a group without others.
    name, members = _group(state.st_gid)
    return None if members is not None and members <= trusted else f"group {name}"


def _has_access_list(path: Path) -> bool:
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except OSError:
        return False  # the file system has none


@functools.cache
def _group(gid: int) -> tuple[str, frozenset[int] | None]:
    """The name and the user ids of a group; None if the system does not know the group."""
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return str(gid), None
    users = pwd.getpwall()
    return group.gr_name, frozenset(
        user.pw_uid for user in users if user.pw_gid == gid or user.pw_name in group.gr_mem
    )


def _user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
