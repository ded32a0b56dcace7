"""Servers with TLS: certificates of the run, readiness and probes, and the load of our engine."""

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.measure import lifecycle
from deadheat.measure.certificates import Certificates, certificates
from deadheat.measure.contender import Contender, controls
from deadheat.measure.inspection import load_server
from deadheat.measure.lifecycle import Instance, StartFailed
from deadheat.measure.own_servers import OwnServers, kept_of, own_contender
from deadheat.measure.verify import verify
from deadheat.measure.world import World
from deadheat.protocol import load_protocol

RACE = load_protocol(Path(__file__).parents[2], "settle")


@pytest.fixture
def secure_world(world: World) -> Iterator[World]:
    with certificates() as made:
        yield replace(world, certificates=made)


@pytest.fixture
def instance(secure_world: World) -> Iterator[Instance]:
    null_server, _ = controls(secure_world.server_engine, tls=True)
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
    behavior = verify(secure_world.server_host, instance.address)
    assert (behavior.fault, behavior.keep_alive, behavior.close_honored) == (None, True, True)
    result = load_server(secure_world, instance, 4, 0.2)
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
    (contender,) = own.contenders((), RACE)
    stored = own_contender(contender.name, kept_of(contender), RACE)
    assert stored.trust == contender.trust == ("--cacert", str(secure_world.certificates.ca))
    assert contender.name.startswith("https://")
    joined = lifecycle.start(secure_world, stored)
    assert load_server(secure_world, joined, 1, 0.1).requests_ok > 0


def test_plain_http_on_a_tls_port_and_the_reverse_are_named(
    secure_world: World, instance: Instance
) -> None:
    url = instance.url.replace("https", "http")
    plain = Contender("plain", "contender", (), any_body=True, url=url)
    with pytest.raises(StartFailed, match="its answer is not HTTP"):
        lifecycle.start(secure_world, plain)
    null_server, _ = controls(secure_world.server_engine)
    without = lifecycle.start(secure_world, null_server)
    try:
        url = without.url.replace("http", "https")
        secure = Contender("secure", "contender", (), any_body=True, url=url)
        with pytest.raises(StartFailed, match="does it speak TLS on this port"):
            lifecycle.start(secure_world, secure)
    finally:
        lifecycle.stop(secure_world, without)


def test_a_command_with_a_certificate_needs_one_machine(world: World) -> None:
    null_server, _ = controls(world.server_engine, tls=True)
    with pytest.raises(StartFailed, match="made on this machine"):
        lifecycle.start(replace(world, certificates=None), null_server)


@pytest.mark.parametrize(
    ("own", "symptom"),
    [
        (OwnServers(urls=["http://a/"], insecure=True), "--insecure: expected --url https://"),
        (OwnServers(urls=["http://a/"], cacert=Path("a")), "--cacert: expected --url https://"),
        (OwnServers(urls=["https://a/"], cacert=Path("a"), insecure=True), "exclude each other"),
        (OwnServers(urls=["https://a/", "http://b/"]), "servers with TLS and without it"),
    ],
)
def test_options_that_make_no_sense_are_refused(own: OwnServers, symptom: str) -> None:
    with pytest.raises(DeadheatError, match=symptom):
        own.contenders((), RACE)
