"""Who can read the served pages."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from deadheat.errors import DeadheatError
from deadheat.serve.access import LOOPBACK, Address
from deadheat.serve.app import make_app
from tests.cli.conftest import Deadheat, deadheat, home, run
from tests.report.made import MadeRun, made_run

__all__ = ["deadheat", "home", "run"]

TOKEN = "the-token"
PAGE = "/assets/live.js"  # what any page is here; the index is read in a process of its own


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = made_run(tmp_path_factory.mktemp("access") / "served.sqlite")
    made.race({"alpha": 9000}, blocks=1)
    made.end()
    return made.store.path


@pytest.fixture
def client(store_path: Path) -> Iterator[TestClient]:
    """Of a server on an address that other machines can reach."""
    app = make_app(store_path, ("*",), TOKEN)
    with TestClient(app, base_url="http://server.example:8008") as client:
        yield client


def address(host: str, *ips: str) -> Address:
    return Address(host, ips or (host,), 8008)


@pytest.mark.parametrize(
    ("host", "name"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("::1", "[::1]"),
     ("::ffff:127.0.0.1", "[::ffff:127.0.0.1]"), ("127.255.0.9", "127.255.0.9")],
)  # fmt: skip
def test_every_loopback_address_checks_the_host_name(
    store_path: Path, host: str, name: str
) -> None:
    """Regression: ::1 and 127.0.0.2 responded to any name."""
    own = address(host)
    assert own.is_loopback
    assert own.names == (*LOOPBACK, name)
    with TestClient(make_app(store_path, own.names), base_url="http://localhost") as client:
        assert client.get(PAGE, headers={"host": f"{name}:8008"}).status_code == 200
        assert client.get(PAGE, headers={"host": "evil.example"}).status_code == 400


OTHERS = ("0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1%eth0")


@pytest.mark.parametrize("ip", OTHERS)
def test_a_name_is_loopback_only_if_all_its_addresses_are(ip: str) -> None:
    assert address("here", "127.0.1.1", "::1").names[-1] == "here"
    for other in (address(ip), address("here", "127.0.1.1", ip)):
        assert not other.is_loopback
        assert other.names == ("*",)


def test_urls_have_brackets_around_ipv6_addresses() -> None:
    assert address("::1").url == "http://[::1]:8008/"
    assert address("127.0.0.2").url == "http://127.0.0.2:8008/"
    assert address("localhost", "::1", "127.0.0.1").url == "http://localhost:8008/"
    assert address("::").url == f"http://{socket.gethostname()}:8008/"


@pytest.mark.parametrize("host", ["no-such-name.invalid", "\ud800", "a" * 70])
def test_rejects_a_host_without_an_address(host: str) -> None:
    with pytest.raises(DeadheatError, match="no address of this machine"):
        Address.of(host, 8008)


@pytest.mark.parametrize("path", ["/", "/runs/x", "/servers/alpha", "/assets/live.js", "/nowhere"])
def test_beyond_loopback_no_page_is_served_without_the_token(client: TestClient, path: str) -> None:
    """Regression: with --host 0.0.0.0 everyone could read every run."""
    for attempt in (path, f"{path}?token=", f"{path}?token=wrong", f"{path}?token=\u00e9"):
        assert client.get(attempt).status_code == 401
    assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert client.get(path, headers={"cookie": "deadheat-token=wrong"}).status_code == 401


def test_the_token_in_the_url_becomes_a_cookie(client: TestClient) -> None:
    first = client.get(f"/?token={TOKEN}&q=alpha", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/?q=alpha")
    assert "httponly" in first.headers["set-cookie"].lower()
    assert client.get(PAGE).status_code == 200


def test_a_script_sends_the_token_in_a_header(client: TestClient) -> None:
    assert client.get(PAGE, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_redirect_stays_on_this_server(client: TestClient) -> None:
    response = client.get(f"//evil.example/?token={TOKEN}", follow_redirects=False)
    assert not response.headers.get("location", "").startswith("//")


@pytest.mark.parametrize("path", ["/runs", "/servers/alpha", "/assets/live.js", "/x"])
def test_every_response_forbids_sniffing_and_frames(store_path: Path, path: str) -> None:
    with TestClient(make_app(store_path), base_url="http://localhost") as client:
        headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy


def test_the_policy_of_a_page_is_also_a_header(store_path: Path) -> None:
    with TestClient(make_app(store_path), base_url="http://localhost") as client:
        page = client.get("/runs")
    policy, _, ancestors = page.headers["content-security-policy"].rpartition("; ")
    assert f'content="{policy}"' in page.text
    assert ancestors == "frame-ancestors 'none'"


def test_serve_warns_and_prints_a_token_beyond_loopback(
    deadheat: Deadheat, run: MadeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: 0.0.0.0 gave no warning."""
    served: list[Any] = []

    def serve(server: uvicorn.Server) -> None:
        served.append(server.config.app)
        server.started = True

    monkeypatch.setattr(uvicorn.Server, "run", serve)
    monkeypatch.setattr("os.nice", lambda _: 0)
    ended = deadheat("serve", "--host", "0.0.0.0", "--port", "18473")
    assert "warning: other machines can connect" in ended.err
    token = ended.err.partition("/?token=")[2].split()[0]
    with TestClient(served[0], base_url="http://server.example") as client:
        assert client.get(PAGE).status_code == 401
        assert client.get(f"{PAGE}?token={token}").status_code == 200
    own = deadheat("serve", "--host", "127.0.0.2", "--port", "18473")
    assert "http://127.0.0.2:18473/ " in own.err
    assert "token" not in own.err
