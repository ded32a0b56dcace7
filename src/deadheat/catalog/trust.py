"""Whether a catalog that nobody named is safe to use: its commands run as this user."""

import functools
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

PARTS = ("servers", "recipes", "protocols", "published")
SKIPPED = {"node_modules", "target", "__pycache__", ".venv"}  # no build uses them


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
