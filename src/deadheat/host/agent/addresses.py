"""Addresses as this machine sees them."""

from __future__ import annotations

import os
import socket

from .fault import Fault


def resolve(name: str) -> str:
    """The IPv4 address of a name."""
    try:
        addresses = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        raise Fault(f"no IPv4 address of {name}: {error}") from error
    return str(addresses[0][4][0])


def peer_address() -> str | None:
    """The address of the other side of the ssh connection that started this agent."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    return words[0] if words else None


def local_address(to: str) -> str | None:
    """This machine's IPv4 address on packets to another one; None if no route leads there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((to, 9))  # sends nothing
        except OSError:
            return None
        return str(probe.getsockname()[0])
