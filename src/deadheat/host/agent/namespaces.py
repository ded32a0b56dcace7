"""Namespaces of PIDs and of networks."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

from .fault import Fault

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000  # sched.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # sockios.h, if.h
PR_SET_CHILD_SUBREAPER = 36  # prctl.h


def libc_call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise Fault(f"{name} failed: {os.strerror(number)}")


def enter_network_namespace() -> None:
    """Give this process and its children a network of their own that has only loopback."""
    enter_namespace(CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as request:
        name_and_flags = fcntl.ioctl(request, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", name_and_flags)[1] | IFF_UP
        fcntl.ioctl(request, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def enter_namespace(kind: int) -> None:
    """Enter a new namespace; of PIDs, the next child does. Without root, also one of users."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        libc_call("unshare", kind)
        return
    libc_call("unshare", CLONE_NEWUSER | kind)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
