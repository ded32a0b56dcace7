"""The backlogs of listening sockets, which only sock_diag(7) reports."""

from __future__ import annotations

import socket
import struct

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST_AND_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
LISTENING = 1 << 10  # the bit of TCP_LISTEN among the states
HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
REQUEST = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2
ANSWER = struct.Struct("=4x48xIIIII")  # struct inet_diag_msg
DEADLINE_S = 1.0


def backlogs() -> dict[int, int]:
    """The backlog of each listening TCP socket here, by inode; empty where the kernel hides them.

    The kernel has lowered what was passed to listen(2) to somaxconn.
    """
    by_inode: dict[int, int] = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
            netlink.settimeout(DEADLINE_S)
            for family in (socket.AF_INET, socket.AF_INET6):
                by_inode.update(_of_family(netlink, family))
    except (OSError, struct.error):
        return {}
    return by_inode


def _of_family(netlink: socket.socket, family: int) -> dict[int, int]:
    """Raises `OSError` if there is no answer."""
    request = REQUEST.pack(family, socket.IPPROTO_TCP, 0, LISTENING)
    length = HEADER.size + len(request)
    netlink.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, REQUEST_AND_DUMP, 0, 0) + request)
    by_inode: dict[int, int] = {}
    while True:
        received = netlink.recv(1 << 16)
        while received:
            size, kind, _, _, _ = HEADER.unpack_from(received)
            if kind != SOCK_DIAG_BY_FAMILY:  # the end of the dump, or an error
                return by_inode
            _, _, backlog, _, inode = ANSWER.unpack_from(received, HEADER.size)
            by_inode[inode] = backlog
            received = received[(size + 3) & ~3 :]
