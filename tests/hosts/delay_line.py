"""A delay line between two network namespaces, also for kernels without netem.

    python delay_line.py SERVER_NAMESPACE LOAD_NAMESPACE

Opens the TUN interface `delay` in each namespace, prints `ready`, and passes on every packet, each
later by the delay that standard input named last, in seconds. Ends with standard input.
"""

import collections
import contextlib
import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from pathlib import Path

CLONE_NEWNET = 0x40000000
SET_INTERFACE = 0x400454CA  # TUNSETIFF
PLAIN_PACKETS = 0x0001 | 0x1000  # IFF_TUN | IFF_NO_PI
NAME = "delay"
PACKET_BYTES_MAX = 65_536


def open_tun(namespace: str) -> int:
    """The descriptor of a new TUN interface in a network namespace, which this process enters."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{namespace}").open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, SET_INTERFACE, struct.pack("16sH", NAME.encode(), PLAIN_PACKETS))
    return tun


def pass_on(ends: list[int]) -> None:
    """Until standard input ends."""
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    on_the_way: collections.deque[tuple[float, int, bytes]] = collections.deque()
    delay_s = 0.0
    while True:
        left_s = max(0.0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        ready, _, _ = select.select([*ends, 0], [], [], left_s)
        for end in ready:
            if end == 0:
                words = os.read(0, 100).split()
                if not words:
                    return
                delay_s = float(words[-1])
                continue
            packet = os.read(end, PACKET_BYTES_MAX)
            on_the_way.append((time.monotonic() + delay_s, other[end], packet))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, end, packet = on_the_way.popleft()
            with contextlib.suppress(OSError):  # the other side is not up yet
                os.write(end, packet)


if __name__ == "__main__":
    tuns = [open_tun(namespace) for namespace in sys.argv[1:]]
    print("ready", flush=True)
    pass_on(tuns)
