"""Our init, for machines without cgroups, and the namespaces of PIDs and of networks."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import IO, NoReturn

from .escaped import kill_all
from .kernel import descendants
from .launcher import become
from .program import Fault, Json

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000  # sched.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # sockios.h, if.h
PR_SET_PDEATHSIG = 1  # prctl.h
PR_SET_CHILD_SUBREAPER = 36


def libc_call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise Fault(f"{name} failed: {os.strerror(number)}")


def end_with(parent: int, number: int) -> None:
    """Let the kernel send this process a signal when its parent ends; exit if it has ended."""
    libc_call("prctl", PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


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


def init_main(spec: Json, control: IO[bytes], report: int) -> NoReturn:
    """Run the command under our init, which reaps, forwards signals, and kills at the end.

    `control` has one signal number per line and ends with the agent. The init writes to `report`
    when the command has started, when it has ended, and when its tree is empty.
    """
    try:
        if spec["containment"] == "pid-namespace":
            enter_namespace(CLONE_NEWPID)
            init = os.fork()
            if init:
                os.close(report)
                os.waitpid(init, 0)
                os._exit(0)
        else:
            libc_call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        Init(spec, control, report).reap()
    except (Fault, OSError) as error:
        fault = error if isinstance(error, Fault) else Fault(str(error))
        os.write(report, json.dumps({"error": fault.as_json()}).encode() + b"\n")
    os._exit(1)


class Init:
    def __init__(self, spec: Json, control: IO[bytes], report: int) -> None:
        self.control = control
        self.report = report
        self.ending = threading.Event()
        reader, writer = os.pipe()
        self.first = os.fork()
        if self.first == 0:
            os.setsid()
            become(spec, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as answer:
            self.write_report(answer.read() + b'{"running": true}\n')
        threading.Thread(target=self.follow_control, daemon=True).start()

    def write_report(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the agent may be dead
            os.write(self.report, line)

    def follow_control(self) -> None:
        for line in self.control:
            with contextlib.suppress(ProcessLookupError):
                if self.first:
                    os.kill(self.first, int(line))
        self.ending.set()
        if os.getpid() == 1:
            os._exit(0)  # the kernel kills a namespace with its init
        kill_all(descendants(os.getpid()))

    def reap(self) -> NoReturn:
        """Wait for every child, own or adopted, until the agent ends the tree.

        A process that escapes one round of killing has lost its parent in that round. It becomes
        a child of this process, and the death of its parent starts another round.
        """
        while True:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                self.write_report(b'{"empty": true}\n')
                self.ending.wait()
                os._exit(0)
            if pid == self.first:
                self.first = 0
                self.write_report(b'{"exit": %d}\n' % exit_code(status))
            if self.ending.is_set():
                kill_all(descendants(os.getpid()))


def exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
