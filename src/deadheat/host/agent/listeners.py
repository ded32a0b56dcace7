"""Listening sockets, and the processes that hold them."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from pathlib import Path

from .fault import Json
from .kernel_files import numbered, read_number, read_text
from .processes import user_of
from .sock_diag import diagnosed_sockets

LISTENING = "0A"  # the state in /proc/net/tcp
BACKLOG_MAX = "/proc/sys/net/core/somaxconn"


def listening_sockets() -> dict[int, Json]:
    """The address, port, user and backlog of each listening TCP socket here, by inode.

    The backlog is None where only /proc/net/tcp lists them (proc_net(5)).
    """
    try:
        return diagnosed_sockets()
    except (OSError, struct.error):
        return _sockets_of_tables()


def _sockets_of_tables() -> dict[int, Json]:
    sockets: dict[int, Json] = {}
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        with contextlib.suppress(OSError), Path(f"/proc/net/{name}").open() as table:
            for line in table:
                fields = line.split()
                if fields[3] == LISTENING:
                    words, _, port = fields[1].partition(":")
                    address = b"".join(
                        int(words[at : at + 8], 16).to_bytes(4, sys.byteorder)
                        for at in range(0, len(words), 8)
                    )
                    sockets[int(fields[9])] = {
                        "address": socket.inet_ntop(family, address),
                        "port": int(port, 16),
                        "user": int(fields[7]),
                        "backlog": None,
                    }
    return sockets


def sockets_of(pid: int) -> set[int] | None:
    """The inodes of a process's sockets; None if this user may not see them."""
    inodes = set()
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 (of names, not paths)
            with contextlib.suppress(FileNotFoundError):
                target = os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115 (for 3.8)
                if target.startswith("socket:["):
                    inodes.add(int(target[8:-1]))
    except PermissionError:
        return None
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return inodes


def listeners(tree: list[int], port: int) -> Json:
    """The listening sockets of a tree, and those of other processes on `port`.

    A sandbox may show no sockets, or not all, so a socket of this process is looked for too.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        sockets = listening_sockets()
        if sockets.pop(os.fstat(probe.fileno()).st_ino, None) is None:
            return {"own": [], "others": [], "complete": False, "backlog_max": None}
    held = [sockets_of(pid) for pid in tree]
    inodes = set().union(*(each for each in held if each is not None))
    complete = None not in held
    others = {i: row for i, row in sockets.items() if i not in inodes and row["port"] == port}
    users = {user for pid in tree if (user := user_of(pid)) is not None}
    names = holders(set(others))
    for inode, row in others.items():
        if complete and inode not in names and row["user"] not in users:
            names[inode] = f"a process of user {row['user']}"

    def row_of(inode: int, process: str | None) -> Json:
        row = {key: value for key, value in sockets[inode].items() if key != "user"}
        return {**row, "process": process}

    return {
        "own": [row_of(inode, None) for inode in sockets if inode in inodes],
        "others": [row_of(inode, names.get(inode)) for inode in others],
        "complete": complete,
        "backlog_max": read_number(BACKLOG_MAX),
    }


def holders(inodes: set[int]) -> dict[int, str]:
    """The name of a process that holds each of these sockets, where that can be seen."""
    names: dict[int, str] = {}
    for pid in numbered(Path("/proc")) if inodes else []:
        for inode in (sockets_of(pid) or set()) & inodes:
            names.setdefault(inode, read_text(f"/proc/{pid}/comm") or f"process {pid}")
    return names
