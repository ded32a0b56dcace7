"""Free TCP ports."""

from __future__ import annotations

import random
import socket

from .kernel_files import read_text


class Ports:
    """Hands out free TCP ports, each only once while others are left.

    The ports are outside the kernel's range of client ports, if that leaves any. Otherwise a
    connection of a load test could take the port before the server does.
    """

    def __init__(self) -> None:
        text = read_text("/proc/sys/net/ipv4/ip_local_port_range") or "32768 60999"
        low, high = map(int, text.split())
        self.left = [port for port in range(10_000, 65_536) if not low <= port <= high]
        random.shuffle(self.left)

    def take(self) -> int:
        while self.left:
            port = self.left.pop()
            if is_free(port):
                return port
        with socket.socket() as probe:
            probe.bind(("", 0))
            return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
