"""A server that runs already: its processes, found by the socket on which it listens.

They are read, and never signaled: the user started them.
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

from .kernel import (
    Family,
    cpu_ticks_of,
    numbered,
    read_text,
    start_ticks,
    start_times,
    stat_fields,
)
from .listeners import listening_sockets, sockets_of
from .network import local_address
from .program import Fault
from .tree import Processes

FORWARDERS = ("docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "ssh", "sshd")
ANY = ("0.0.0.0", "::", "::ffff:0.0.0.0")
AS_ITS_USER = "run deadheat as the user of the server, or as root"


class ListeningServer(Processes):
    """The topmost holders of a listening socket, and their descendants."""

    def __init__(self, roots: list[int]) -> None:
        super().__init__()
        self.roots = start_times(roots)
        self.name = "running-" + "-".join(f"{pid}.{ticks}" for pid, ticks in self.roots)

    def members(self, family: Family | None = None) -> list[int]:
        roots = [pid for pid, ticks in self.roots if start_ticks(pid) == ticks]
        if not roots:
            raise Fault("the running server has ended")
        of = family or Family()
        return list(dict.fromkeys(pid for root in roots for pid in (root, *of.descendants(root))))

    def cpu_times_s(self) -> tuple[float, float]:
        living = (stat_fields(pid) for pid in self.members())
        return self.added_up_s([cpu_ticks_of(fields) for fields in living if fields])

    def cpus(self) -> list[int]:
        """The CPUs that it may use."""
        allowed: set[int] = set()
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                allowed |= os.sched_getaffinity(pid)
        return sorted(allowed)


def find_running(host: str, port: int) -> ListeningServer | None:
    """The server of this machine that answers at an address; None for one of another machine.

    Raises `Fault` if its processes cannot be seen.
    """
    addresses = [address for address in addresses_of(host, port) if is_local(address)]
    if not addresses:
        return None
    inodes = _sockets_at(addresses, port)
    if not inodes:
        raise Fault(
            f"no process here listens on port {port}: a container or a firewall rule redirects it"
        )
    held: set[int] = set()
    pids = []
    for pid in numbered(Path("/proc")):
        if mine := (sockets_of(pid) or set()) & inodes:
            pids.append(pid)
            held |= mine
    if held != inodes:
        raise Fault(f"who listens on port {port} belongs to another user", AS_ITS_USER)
    above = set(_ancestors(os.getpid()))
    pids = [pid for pid in pids if pid not in above]
    roots = [pid for pid in pids if not set(_ancestors(pid)[1:]) & set(pids)]
    names = {read_text(f"/proc/{pid}/comm") or "" for pid in roots}
    if forwarders := names & {*FORWARDERS}:
        raise Fault(f"{min(forwarders)} only passes the requests on port {port} on")
    if not roots:
        raise Fault(f"a process that started deadheat listens on port {port}")
    return ListeningServer(roots)


def addresses_of(host: str, port: int) -> list[str]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Fault(f"no address of {host}: {error}") from error
    return [str(each[4][0]) for each in answers]


def is_local(address: str) -> bool:
    """Whether packets to an address stay on this machine: then it is their sender, too."""
    sender = local_address(address)
    return sender is not None and (sender == address or address.startswith("127."))


def _sockets_at(addresses: list[str], port: int) -> set[int]:
    """The inodes of the sockets that get the connections: one of an address before one of any."""
    sockets = listening_sockets()
    here = {inode: row["address"] for inode, row in sockets.items() if row["port"] == port}
    for address in addresses:
        any_of = ("::",) if ":" in address else ANY
        for wanted in ((address, f"::ffff:{address}"), any_of):
            if inodes := {inode for inode, bound in here.items() if bound in wanted}:
                return inodes
    return set()


def _ancestors(pid: int) -> list[int]:
    """The process, its parent, and so on."""
    line = []
    while pid > 0:
        line.append(pid)
        fields = stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return line
