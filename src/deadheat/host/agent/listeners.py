"""Listening sockets, and the processes that hold them.

They come from sock_diag(7): /proc/net/tcp lists every connection, too.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from pathlib import Path

from .kernel import numbered, read_number, read_text, user_of
from .program import Json

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
END_OF_DUMP = 3  # NLMSG_DONE
REQUEST_AND_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
LISTENING_STATES = 1 << 10  # the bit of TCP_LISTEN among the states
HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
REQUEST = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2
PORT = struct.Struct("!4xH")  # in struct inet_diag_msg
ADDRESS_AT = 8
REST = struct.Struct("=60xIII")  # its backlog, user and inode
DEADLINE_S = 1.0
LISTENING = "0A"  # the state in /proc/net/tcp
BACKLOG_MAX = "/proc/sys/net/core/somaxconn"


def diagnosed_sockets() -> dict[int, Json]:
    """The address, port, user and backlog of each listening TCP socket here, by inode.

    The kernel has lowered the backlog that was passed to listen(2) to somaxconn. Raises `OSError`
    or `struct.error` where the kernel does not answer.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(DEADLINE_S)
        return {
            **_of_family(netlink, socket.AF_INET, 4),
            **_of_family(netlink, socket.AF_INET6, 16),
        }


def _of_family(netlink: socket.socket, family: int, address_bytes: int) -> dict[int, Json]:
    request = REQUEST.pack(family, socket.IPPROTO_TCP, 0, LISTENING_STATES)
    length = HEADER.size + len(request)
    netlink.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, REQUEST_AND_DUMP, 0, 0) + request)
    sockets: dict[int, Json] = {}
    while True:
        received = netlink.recv(1 << 16)
        while received:
            size, kind, _, _, _ = HEADER.unpack_from(received)
            if kind == END_OF_DUMP:
                return sockets
            if kind != SOCK_DIAG_BY_FAMILY:
                raise OSError(f"sock_diag answered with a message of kind {kind}")
            message = received[HEADER.size : size]
            address = message[ADDRESS_AT : ADDRESS_AT + address_bytes]
            backlog, user, inode = REST.unpack_from(message)
            sockets[inode] = {
                "address": socket.inet_ntop(family, address),
                "port": PORT.unpack_from(message)[0],
                "user": user,
                "backlog": backlog,
            }
            received = received[(size + 3) & ~3 :]


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
