"""Servers with TLS: certificates of the run, readiness and probes, and the load of our engine."""

import os
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import IPAddress, SubjectAlternativeName, load_pem_x509_certificates

from deadheat.build.image import ContainerTool, Image
from deadheat.catalog import fill
from deadheat.catalog.manifest import Transport
from deadheat.errors import DeadheatError
from deadheat.host import Completed, ProcessSpec
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.load.engine import CA, CA_FILE
from deadheat.measure import lifecycle
from deadheat.measure.certificates import Certificates, certificates
from deadheat.measure.contender import TLS_OPTIONS, Contender, Instance, controls
from deadheat.measure.http2 import http2_fault
from deadheat.measure.inspection import inspect_own, load_server
from deadheat.measure.own_servers import OwnServers, kept_of, own_contender
from deadheat.measure.trial import load_spec
from deadheat.measure.world import World
from deadheat.protocol import SliceProtocol, load_as
from deadheat.workload import Workload
from deadheat.workload.model import Request

USUAL_TLS = "TLS 1.3, TLS_AES_128_GCM_SHA256, "
RACE = load_as(Path(__file__).parents[2], "settle", SliceProtocol)


@pytest.fixture
def secure_world(world: World) -> Iterator[World]:
    with certificates() as made:
        yield replace(world, certificates=made)


@pytest.fixture
def instance(secure_world: World) -> Iterator[Instance]:
    null_server, _ = controls(secure_world.server_engine, ["https"])
    instance = lifecycle.start(secure_world, null_server)
    yield instance
    lifecycle.stop(secure_world, instance)


def test_certificates_are_new_in_each_run_and_end_with_it() -> None:
    keys = set()
    for _ in range(2):
        with certificates() as made:
            values = made.values()
            assert values == made.values()
            keys.add(Path(values["key"]).read_text())
            context = ssl.create_default_context(cafile=str(made.ca))
            context.load_cert_chain(values["cert"], values["key"])
            assert made.folder.stat().st_mode & 0o077 == 0, "only this user reads the key"
        assert not made.folder.exists()
    assert len(keys) == 2


def test_the_folder_of_a_killed_run_goes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = subprocess.check_output(
        [sys.executable, "-c", "import os; print(os.getpid())"], text=True
    )
    left = tmp_path / f"deadheat-tls-{said.strip()}-0a"
    other = tmp_path / f"deadheat-tls-{os.getpid()}-0b"
    left.mkdir()
    other.mkdir()
    with certificates() as made:
        assert not made.folder.exists(), "nothing is made before it is needed"
        made.values()
        assert [left.exists(), other.exists(), made.folder.exists()] == [False, True, True]


def test_a_server_with_a_certificate_is_verified_and_loaded_over_tls(
    secure_world: World, instance: Instance
) -> None:
    assert instance.url.startswith("https://127.0.0.1:")
    behavior = lifecycle.behavior_of(secure_world, instance, 5.0)
    assert (behavior.fault, behavior.keep_alive, behavior.close_honored) == (None, True, True)
    assert str(behavior.tls).startswith(USUAL_TLS)
    result = load_server(secure_world, instance, 4, 1.0)
    assert result.requests_ok > 0
    assert not result.errors_total


def test_the_load_trusts_only_the_certificate_of_the_run(
    secure_world: World, instance: Instance, tmp_path: Path
) -> None:
    ca = Certificates(tmp_path).ca
    with pytest.raises(DeadheatError, match="the issuer of the certificate is unknown"):
        load_server(secure_world, replace(instance, trust=("--cacert", str(ca))), 1, 0.1)


def test_a_running_server_is_joined_over_tls(secure_world: World, instance: Instance) -> None:
    assert secure_world.certificates is not None
    own = OwnServers(urls=[instance.url], cacert=secure_world.certificates.ca)
    own, race = own.with_workload(RACE)
    (contender,) = own.contenders((), race)
    stored = own_contender(contender.name, kept_of(contender), RACE)
    assert stored.trust == contender.trust == ("--cacert", str(secure_world.certificates.ca))
    assert contender.name.startswith("https://")
    joined = lifecycle.start(secure_world, stored)
    assert load_server(secure_world, joined, 1, 1.0).requests_ok > 0


Talks = Callable[[socket.socket], None]
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
NO_VERSION = b"\x15\x03\x01\x00\x02\x02\x46"  # alerts
NO_PROTOCOL = b"\x15\x03\x03\x00\x02\x02\x78"
REFUSED = b"Client sent an HTTP request to an HTTPS server."


@contextmanager
def serving(talk: Talks) -> Iterator[str]:
    """Host and port of a server that does this with each connection."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                talk(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def secured(ca: trustme.CA, name: str = "127.0.0.1", until: datetime | None = None) -> Talks:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(name, not_after=until).configure_cert(context)

    def talk(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as tls:
            while tls.recv(1 << 16):
                tls.sendall(PLAIN)

    return talk


def saying(answer: bytes) -> Talks:
    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(answer)

    return talk


def fault_at(world: World, url: str, transport: Transport, trust: tuple[str, ...] = ()) -> str:
    own = Contender(
        "mine", "contender", (), any_body=True, url=url, transport=transport, trust=trust
    )
    return inspect_own(world, own, (), ()).fault or "none"


@pytest.mark.parametrize("transport", ["https", "h2"])
def test_bug_verify_took_a_certificate_that_the_load_refuses(
    secure_world: World, tmp_path: Path, transport: Transport
) -> None:
    """Each fault of TLS is named with its fix. Over HTTP/1.1, the probes take any certificate."""
    ca, past = trustme.CA(), datetime.now(UTC) - timedelta(days=12, hours=1)
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    faults: list[tuple[Talks, str]] = [
        (secured(ca, until=past), "the certificate expired 12 days ago; renew it"),
        (secured(ca, "a.test"), "for a.test, not for 127.0.0.1; use a name of the certificate"),
        (secured(trustme.CA()), "the issuer of the certificate is unknown; trust its CA with"),
        (saying(NO_VERSION), "nor TLS 1.2; enable TLS 1.3 or 1.2 in the server"),
        (saying(NO_PROTOCOL), "none of the offered protocols; let it offer"),
        (saying(PLAIN), "the server answers with plain HTTP on this port; use http://"),
    ]
    for talk, wanted in faults:
        with serving(talk) as address:
            trust = ("--cacert", str(tmp_path / "ca.pem"))
            assert wanted in fault_at(secure_world, f"https://{address}/", transport, trust)
    if transport == "https":
        with serving(secured(ca)) as address:
            assert fault_at(secure_world, f"https://{address}/", transport, trust) == "none"


@pytest.mark.parametrize("transport", ["http", "h2c"])
def test_plain_http_on_a_tls_port_names_https(
    secure_world: World, instance: Instance, transport: Transport
) -> None:
    url = instance.url.replace("https", "http")
    assert "https://" in fault_at(secure_world, url, transport)
    head = f"HTTP/1.0 400 Bad Request\r\nContent-Length: {len(REFUSED)}\r\n\r\n".encode()
    for answer in (head + REFUSED, NO_VERSION, b""):
        with serving(saying(answer)) as address:
            fault = fault_at(secure_world, f"http://{address}/", transport)
            assert "https://" in fault.removeprefix(f"http://{address}/"), answer


@pytest.mark.parametrize(
    ("transport", "options", "said"),
    [
        ("http", TLS_OPTIONS, "put {cert} and {key} into its command"),
        ("https", (), "the server answers with plain HTTP on this port"),
    ],
)
def test_a_command_that_speaks_tls_unasked_or_not_at_all_is_named(
    secure_world: World, transport: Transport, options: tuple[str, ...], said: str
) -> None:
    assert secure_world.certificates is not None
    files = secure_world.certificates.values()
    command = secure_world.server_engine.null_server("{port}", 0, "{host}")
    words = fill((*command, *options), files)
    own = Contender("mine", "contender", words, any_body=True, transport=transport, ready_s=2)
    assert said in (inspect_own(secure_world, own, (), ()).fault or "none")


@pytest.mark.parametrize("is_server", [True, False])
def test_another_host_gets_the_files_that_it_needs(tmp_path: Path, is_server: bool) -> None:
    sent: dict[PurePosixPath, bytes] = {}
    scratch = PurePosixPath("/far/scratch")
    far: Any = SimpleNamespace(scratch_folder=lambda: scratch, send_file=sent.__setitem__)
    server = far if is_server else None
    made = Certificates(tmp_path / "made", server=server, far=(far,), address="192.168.10.10")
    assert made.trust == ("--cacert", CA)
    names = {"ca.pem", "cert.pem", "key.pem"} if is_server else {"ca.pem"}
    assert {path.name for path in sent} == names
    assert set(made.values().values()) <= {str(path) for path in sent} or not is_server
    chain = (tmp_path / "made" / "cert.pem").read_bytes()
    certificate = load_pem_x509_certificates(chain)[0]
    alternatives = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    assert IPv4Address("192.168.10.10") in alternatives.get_values_for_type(IPAddress)
    engine = Engine("deadheat-load", str(scratch / CA_FILE))
    command = engine.command(LoadSpec("https://a/", 1, 1.0, arguments=made.trust))
    assert PurePosixPath(command[command.index("--cacert") + 1]) in sent


def test_a_container_sees_the_folder_of_its_certificate() -> None:
    """Regression: a server in a container had no way to read it."""
    tool = ContainerTool("podman", "mine", (0,), 1 << 30, 10, 100, 100)
    command = ("serve", "{cert}", "{key}")
    contender = Contender("a:https", "contender", command, image=Image(tool, "image"))
    files = {"cert": "/made/cert.pem", "key": "/made/key.pem"}
    words = contender.over("https").command_at(1, files=files)
    assert words[words.index("--volume") + 1] == "/made:/made:ro,z"
    assert words[-2:] == ("/made/cert.pem", "/made/key.pem")
    assert "--volume" not in contender.command_at(1)


@pytest.fixture(params=["h2", "h2c"])
def over_http2(secure_world: World, request: pytest.FixtureRequest) -> Iterator[Instance]:
    null_server, _ = controls(secure_world.server_engine, [request.param])
    instance = lifecycle.start(secure_world, null_server)
    yield instance
    lifecycle.stop(secure_world, instance)


def test_a_server_is_verified_and_loaded_over_http2(
    secure_world: World, over_http2: Instance
) -> None:
    behavior = lifecycle.behavior_of(secure_world, over_http2, 5.0)
    assert (behavior.fault, behavior.framing) == (None, "frames")
    assert str(behavior.tls).startswith(USUAL_TLS) == over_http2.contender.speaks_tls
    result = load_server(secure_world, over_http2, 4, 0.2)
    assert result.requests_ok > 0
    assert not result.errors_total
    spec = load_spec(RACE.model_copy(update={"streams": 3}), over_http2, 2)
    assert spec.http2_streams == 3


def test_a_wrong_answer_over_http2_is_named(secure_world: World, over_http2: Instance) -> None:
    check = {"path": "/none", "about": "an unknown path", "expect": {"status": 404}}
    requests = [{"path": "/", "expect": {"body": "Hello, World!"}}]
    workload = Workload.model_validate(
        {"name": "mine", "about": "a test", "requests": requests, "checks": [check]}
    )
    fault = lifecycle.fault_on(secure_world, over_http2, workload)
    assert fault is not None
    assert fault.startswith("workload mine, an unknown path: ")
    assert "status 200, expected 404" in fault


@pytest.mark.parametrize(
    ("own", "asked", "spoken"),
    [
        (OwnServers(urls=["http://a/"]), ("http",), ("http",)),
        (OwnServers(urls=["https://a/"]), ("http",), ("https",)),
        (OwnServers(urls=["https://a/", "http://b/"]), ("http",), ("http", "https")),
        (OwnServers(urls=["https://a/"]), ("http", "h2"), ("http", "h2")),
    ],
)
def test_own_servers_say_which_transports_a_race_has(
    own: OwnServers, asked: tuple[Transport, ...], spoken: tuple[Transport, ...]
) -> None:
    _, protocol = own.with_workload(RACE.model_copy(update={"transports": asked}))
    assert protocol.transports == spoken
    assert {each.transport for each in own.contenders((), protocol)} <= set(spoken)


def test_a_server_that_speaks_none_of_the_transports_is_refused() -> None:
    own = OwnServers(commands=[[sys.executable, "{port}"]])
    with pytest.raises(DeadheatError, match=r"--transport h2: .* has another one"):
        own.contenders((), RACE.model_copy(update={"transports": ("h2",)}))


def test_keys_of_rsa_are_made_on_request() -> None:
    with certificates() as made:
        values = replace(made, key="rsa").values()
        key = load_pem_private_key(Path(values["key"]).read_bytes(), password=None)
        assert isinstance(key, RSAPrivateKey)
        assert key.key_size == 2048


OVER_H2C = Contender("mine", "contender", (), url="http://127.0.0.1:1/", transport="h2c")


@pytest.mark.parametrize(
    ("expect", "fault"), [({"status": 404}, None), ({"body": "no"}, "2 body_mismatch")]
)
def test_bug_an_error_page_with_the_time_was_wrong_over_http2(
    expect: dict[str, Any], fault: str | None
) -> None:
    """Without an expected body, the engine compares each body with the first."""
    result = LoadResult("engine", "1", 1.0, 1, 1.0, {"body_mismatch": 2}, {})
    engine = SimpleNamespace(command=lambda _: ["load"], parse=lambda *_: result)
    host = SimpleNamespace(run=lambda *_: None)
    asked: Any = SimpleNamespace(server_engine=engine, server_host=host, engine_version="1")
    request = Request.model_validate({"path": "/none", "expect": expect})
    assert http2_fault(asked, Instance(OVER_H2C, "", 1, "", 0.0), request, 1.0) == fault


def test_bug_a_check_over_http2_ended_before_the_timeout_of_its_request() -> None:
    """A server that never answered had "ended with None and printed no result"."""
    limits_s: list[float] = []

    def run(_: ProcessSpec, limit_s: float) -> Completed:
        limits_s.append(limit_s)
        return Completed(3, "", "no answer", limit_s, 0.0)

    host = SimpleNamespace(run=run)
    asked: Any = SimpleNamespace(server_host=host, server_engine=Engine(), engine_version="1")
    http2_fault(asked, Instance(OVER_H2C, "", 1, "", 0.0), Request(path="/"), 90.0)
    assert min(limits_s) > 90
