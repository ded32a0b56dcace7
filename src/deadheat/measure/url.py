"""`ServerUrl`: the URL of a server, by the rules of the load engine (RFC 3986, http and https).

`tests/url_cases.json` tests both: what one takes, the other does too. Unix sockets are the
exception: the engine loads them, and a race needs a port.
"""

import ipaddress
import string
from dataclasses import dataclass
from typing import Self

PORTS = {"http://": 80, "https://": 443}
PORT_MAX = 65_535
SOCKET = "unix:"
HOST_SIGNS = frozenset(string.ascii_letters + string.digits + "-._~!$&'()*+,;=%")


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """`target` is the path with the query. `host` has no brackets, and small letters."""

    host: str
    port: int
    target: str
    scheme: str = "http://"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` with what is wrong; the message never has a password."""
        if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in text):
            raise ValueError("blank or control character")
        if text.startswith(SOCKET):
            socket, _, path = text.removeprefix(SOCKET).partition(":")
            if not socket.startswith("/") or not f"{path}/".startswith("/"):
                raise ValueError("not the path of a socket")
            raise ValueError("a Unix socket; only `deadheat-load` loads these")
        if not text.isascii():
            raise ValueError("character that is not ASCII; write it percent-encoded")
        scheme = next((each for each in PORTS if text.lower().startswith(each)), None)
        if scheme is None:
            raise ValueError("missing http:// or https://")
        rest = text[len(scheme) :].partition("#")[0]
        cut = min((at for mark in "/?" if (at := rest.find(mark)) >= 0), default=len(rest))
        authority, target = rest[:cut], rest[cut:]
        if "@" in authority:
            raise ValueError("user name or password in it, which would be stored and printed")
        host, port = _host_and_port(authority, PORTS[scheme])
        return cls(host, port, target if target.startswith("/") else f"/{target}", scheme)

    @property
    def is_https(self) -> bool:
        return self.scheme == "https://"

    @property
    def name(self) -> str:
        """As a contender is called: without http:// and an empty path."""
        scheme = self.scheme if self.is_https else ""
        return scheme + self._authority + ("" if self.target == "/" else self.target)

    @property
    def base(self) -> str:
        """The URL of the same server with the path `/`."""
        return f"{self.scheme}{self._authority}/"

    @property
    def _authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _host_and_port(authority: str, default_port: int) -> tuple[str, int]:
    host, mark, port = authority.rpartition(":")
    if authority.startswith("["):
        host, bracket, after = authority[1:].partition("]")
        if not bracket or not _is_ipv6(host):
            raise ValueError("expected an IPv6 address in brackets")
        if after and not after.startswith(":"):
            raise ValueError("expected a port from 1 to 65535 behind the host")
        return host.lower(), _port(after[1:], default_port)
    if not mark:
        host, port = authority, ""
    if ":" in host:
        raise ValueError("an IPv6 address needs brackets, as in http://[::1]:8080/")
    if not HOST_SIGNS.issuperset(host):
        raise ValueError("character that no host has")
    if not host:
        raise ValueError("missing host")
    return host.lower(), _port(port, default_port)


def _port(text: str, default_port: int) -> int:
    if not text:
        return default_port
    digits = text.lstrip("0")
    if not text.isdigit() or len(digits) > 5 or not 1 <= int(digits or "0") <= PORT_MAX:
        raise ValueError("expected a port from 1 to 65535 behind the host")
    return int(digits)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone, which the engine has not
