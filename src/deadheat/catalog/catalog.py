"""The catalog of servers: found, trusted, and chosen by name, glob or language.

Catalogs are layers: behind the user's own lies the one that deadheat ships.
"""

import difflib
import fnmatch
import functools
import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat.catalog.layers import shipped_root
from deadheat.catalog.server import IGNORED, Server, load_server
from deadheat.catalog.toml_lines import FileFault
from deadheat.errors import DeadheatError, UsageFault, joined

PARTS = ("servers", "recipes", "protocols", "workloads", "published")


@dataclass(frozen=True)
class Catalog:
    """Servers by name, and the faults of the folders that could not be read."""

    root: Path
    servers: Mapping[str, Server]
    faults: Mapping[str, FileFault]

    @functools.cached_property
    def shipped(self) -> Mapping[str, Server]:
        """The servers that deadheat ships and that this catalog does not replace."""
        root = shipped_root()
        if root is None or root == self.root:
            return {}
        servers = load_catalog(root).servers
        return {name: server for name, server in servers.items() if name not in self.names}

    @property
    def names(self) -> set[str]:
        return {*self.servers, *self.faults}

    @property
    def all_servers(self) -> Mapping[str, Server]:
        """Those of this catalog and those that deadheat ships."""
        return {**self.servers, **self.shipped}

    def find(self, name: str) -> Server | None:
        """The server of that name; None if there is none."""
        return self.servers.get(name) or self.shipped.get(name)


def find_root(given: str | None = None, here: Path | None = None) -> Path:
    """The folder that holds `servers/`: the first layer. What it lacks is that of the shipped one.

    Searched in order: `given` (the flag), DEADHEAT_CATALOG, `here` (the current folder) and its
    parents, the checkout of this package, the copy in the installed package. Raises
    `DeadheatError`, also for a folder that is found but that another user owns or can write.
    """
    if given is not None or "DEADHEAT_CATALOG" in os.environ:
        place = Path(given or os.environ["DEADHEAT_CATALOG"]).resolve()
        if not (place / "servers").is_dir():
            raise UsageFault(
                f"no servers/ in {place}", "--catalog DIR is the folder that contains servers/"
            )
        return place
    here, shipped = here or Path.cwd(), shipped_root()
    for place in (here, *here.parents):
        if place == shipped or not any((place / "servers").glob("*/server.toml")):
            continue
        if reason := distrust(place):
            raise DeadheatError(
                f"the catalog in {place} is not trusted: {reason}",
                f"if you trust its commands: --catalog {shlex.quote(str(place))}",
            )
        return place
    if shipped is None:
        raise DeadheatError(
            f"no catalog: neither {here} nor a parent contains servers/",
            "use --catalog DIR or set DEADHEAT_CATALOG",
        )
    return shipped  # trusted like this code


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

    Patterns match shipped servers, too. Without patterns or languages, all of `catalog` match.
    Raises `DeadheatError` with the nearest names or the available languages, and `FileFault` for a
    matching manifest that cannot be read.
    """
    names_by_pattern = {pattern: _matching(catalog, pattern) for pattern in patterns}
    unknown = [pattern for pattern, names in names_by_pattern.items() if not names]
    faults = [_unknown(catalog, unknown)] if unknown else []
    shipped = not names_by_pattern.keys() <= catalog.servers.keys()
    every = catalog.all_servers if shipped else catalog.servers
    matched = [every[name] for names in names_by_pattern.values() for name in names]
    pool = {server.name: server for server in matched} or dict(catalog.servers)
    wanted = [language.lower() for language in languages]
    written_in = _languages(catalog.servers)
    if not written_in.issuperset(wanted):
        written_in = _languages(catalog.all_servers)
        pool = pool if matched else dict(catalog.all_servers)
    faults += [_no_language(each, sorted(written_in)) for each in wanted if each not in written_in]
    if faults:
        raise joined(faults)
    chosen = [s for s in pool.values() if not wanted or s.manifest.language.lower() in wanted]
    if matched and not chosen:
        names = ", ".join(pool)
        raise DeadheatError(
            f"--language: none of {names} is written in {' or '.join(wanted)}",
            "omit the names or the language",
        )
    return chosen


def _languages(servers: Mapping[str, Server]) -> set[str]:
    return {server.manifest.language.lower() for server in servers.values()}


def _no_language(language: str, known: Sequence[str]) -> UsageFault:
    near = [name for name in known if name.startswith(language)]
    near = near or difflib.get_close_matches(language, known, n=3)
    return UsageFault(
        f"--language: no server is written in {language!r}",
        f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(known)}",
    )


def _matching(catalog: Catalog, pattern: str) -> list[str]:
    """The names that a pattern matches; raises `FileFault` for a manifest that cannot be read."""
    for name in fnmatch.filter(catalog.faults, pattern):
        raise catalog.faults[name]
    if pattern in catalog.servers:
        return [pattern]
    return fnmatch.filter(catalog.all_servers, pattern)


def _unknown(catalog: Catalog, patterns: Sequence[str]) -> UsageFault:
    """The error that names every pattern without a server, and names near to each."""
    hints = []
    for pattern in patterns:
        near = difflib.get_close_matches(pattern.strip("*"), catalog.all_servers, n=3, cutoff=0.5)
        if near:
            which = f"{pattern}: " if len(patterns) > 1 else ""
            hints.append(f"{which}did you mean {' or '.join(near)}?")
    places = [catalog.root, *([shipped_root()] if catalog.shipped else [])]
    word = "server" if len(patterns) == 1 else "servers"
    return UsageFault(
        f"unknown {word} {', '.join(map(repr, patterns))} "
        f"in {' and '.join(f'{place}/servers' for place in places)}",
        "; ".join(hints) or "`deadheat list '*'` shows all servers",
    )


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
                folders[:] = [name for name in folders if name not in IGNORED]
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
