"""The listening sockets, from sock_diag(7): /proc/net/tcp lists every connection, too."""

from __future__ import annotations

import socket
import struct

from .fault import Json

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
END_OF_DUMP = 3  # NLMSG_DONE
REQUEST_AND_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
LISTENING = 1 << 10  # the bit of TCP_LISTEN among the states
HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
REQUEST = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2
PORT = struct.Struct("!4xH")  # in struct inet_diag_msg
ADDRESS_AT = 8
REST = struct.Struct("=60xIII")  # its backlog, user and inode
DEADLINE_S = 1.0


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
    request = REQUEST.pack(family, socket.IPPROTO_TCP, 0, LISTENING)
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
