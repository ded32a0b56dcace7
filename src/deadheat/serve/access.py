"""Who can read the served pages: programs on this machine, or everyone who has the token."""

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deadheat.errors import DeadheatError
from deadheat.serve.markup import message

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # Host names of this machine
COOKIE = "deadheat-token"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True)
class Address:
    """What the server listens on: the host as given, its IP addresses, and the port."""

    host: str
    ips: tuple[str, ...]
    port: int

    @classmethod
    def of(cls, host: str, port: int) -> "Address":
        """Raises `DeadheatError` if the host has no address."""
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise DeadheatError(
                f"--host {host!r}: no address of this machine: {error}",
                "127.0.0.1 is this machine only; 0.0.0.0 is every IPv4 address, :: also IPv6",
            ) from error
        return cls(host, tuple(dict.fromkeys(str(entry[4][0]) for entry in entries)), port)

    @property
    def is_loopback(self) -> bool:
        """Only programs on this machine can connect."""
        return all(map(_is_loopback, self.ips))

    @property
    def names(self) -> tuple[str, ...]:
        """The Host names to respond to; `*` is any name.

        On loopback, a page from elsewhere whose name resolves to this machine (DNS rebinding) still
        sends that name. Elsewhere it has no token.
        """
        return (*LOOPBACK, _in_url(self.host).lower()) if self.is_loopback else ("*",)

    @property
    def url(self) -> str:
        """Where a browser finds it. For all addresses it has the name of this machine."""
        everywhere = any(ipaddress.ip_address(ip).is_unspecified for ip in self.ips)
        host = socket.gethostname() if everywhere else self.host
        return f"http://{_in_url(host)}:{self.port}/"


def _is_loopback(ip: str) -> bool:
    address = ipaddress.ip_address(ip)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class TokenMiddleware:
    """Responds only to requests with the token: in the query once, then in a cookie.

    `Authorization: Bearer TOKEN` works too. None as token allows every request.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._token is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        given = request.query_params.get("token")
        if given is not None and self._matches(given):
            query = [pair for pair in parse_qsl(request.url.query) if pair[0] != "token"]
            path = "/" + request.url.path.lstrip("/")  # `//host` would be another host
            response = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
            response.set_cookie(COOKIE, self._token, httponly=True, samesite="lax")
            await response(scope, receive, send)
        elif self._matches(request.cookies.get(COOKIE)) or self._matches(_bearer(request)):
            await self._app(scope, receive, send)
        else:
            page = message(
                "This server needs a token", "open the URL that deadheat serve printed", "No access"
            )
            await HTMLResponse(page, 401)(scope, receive, send)

    def _matches(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(
            given.encode(errors="replace"), (self._token or "").encode()
        )


def _bearer(request: Request) -> str | None:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else None


class HeadersMiddleware:
    """Adds `HEADERS` to each response that does not have them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
