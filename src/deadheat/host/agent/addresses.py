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
