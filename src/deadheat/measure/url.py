"""`ServerUrl`: the URL of a server, by the rules of the load engine (RFC 3986, http alone).

`tests/url_cases.json` tests both: what one takes, the other does too.
"""

import ipaddress
from dataclasses import dataclass
from typing import Self

PORT = 80
PORT_MAX = 65_535
SCHEME = "http://"


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """`target` is the path with the query. `host` has no brackets."""

    host: str
    port: int
    target: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` with what is wrong; the message never has a password."""
        if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in text):
            raise ValueError("blank or control character")
        if not text.isascii():
            raise ValueError("character that is not ASCII; write it percent-encoded")
        if text.lower().startswith("https://"):
            raise ValueError("https is not supported")
        if not text.lower().startswith(SCHEME):
            raise ValueError("missing http://")
        rest = text[len(SCHEME) :].partition("#")[0]
        cut = min((at for mark in "/?" if (at := rest.find(mark)) >= 0), default=len(rest))
        authority, target = rest[:cut], rest[cut:]
        if "@" in authority:
            raise ValueError("user name or password in it, which would be stored and printed")
        host, port = _host_and_port(authority)
        return cls(host, port, target if target.startswith("/") else f"/{target}")

    @property
    def name(self) -> str:
        """As a contender is called: without the scheme and an empty path."""
        return self._authority + ("" if self.target == "/" else self.target)

    @property
    def base(self) -> str:
        """The URL of the same server with the path `/`."""
        return f"{SCHEME}{self._authority}/"

    @property
    def _authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _host_and_port(authority: str) -> tuple[str, int]:
    host, mark, port = authority.rpartition(":")
    if authority.startswith("["):
        host, bracket, after = authority[1:].partition("]")
        if not bracket or not _is_ipv6(host):
            raise ValueError("expected an IPv6 address in brackets")
        if after and not after.startswith(":"):
            raise ValueError("expected a port from 1 to 65535 behind the host")
        return host, _port(after[1:])
    if not mark:
        host, port = authority, ""
    if not host:
        raise ValueError("missing host")
    if ":" in host:
        raise ValueError("an IPv6 address needs brackets, as in http://[::1]:8080/")
    return host, _port(port)


def _port(text: str) -> int:
    if not text:
        return PORT
    if not text.isdigit() or not 1 <= int(text[:6]) <= PORT_MAX:
        raise ValueError("expected a port from 1 to 65535 behind the host")
    return int(text)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
