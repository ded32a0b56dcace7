"""Descriptors, ports or a listen queue run out: more addresses, a delay, or the client's class."""

import os
import resource
import subprocess
from collections.abc import Iterator

import pytest

from tests.engine.runs import BACKENDS, answers_accounted_for, null_server, run_engine
from tests.engine.scripted import GOOD, Reply, scripted

SHORT = ("-d", "300ms", "--warmup", "0s")
PORTS = 8


@BACKENDS
def test_listen_queue_of_one_delays_requests_and_loses_none(backend: str) -> None:
    reply = Reply(GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), True)
    options = [*SHORT, "--drain", "3s", "--close", "--backend", backend]
    with scripted(reply, backlog=1) as server:
        document, _ = run_engine(server.url, "-c", "32", *options)
        classes = document["classes"]
        assert classes["ok"] > 0
        assert classes["ok"] + classes["unfinished"] == document["requests"]["scheduled"]
        unseen = server.answered - answers_accounted_for(document)
        assert 0 <= unseen <= classes["unfinished"]


def test_exhausted_descriptors_are_a_limit_of_the_client() -> None:
    """Descriptors that the engine cannot know of take what it counts on."""
    inherited = [os.open(os.devnull, os.O_RDONLY) for _ in range(60)]
    limit = max(inherited) + 60
    connections = limit - 40  # one process has room for them, as far as it can know

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    try:
        with null_server() as server:
            document, exit_code = run_engine(
                server.url, "-c", str(connections), *SHORT, preexec_fn=lower, pass_fds=inherited
            )
    finally:
        for descriptor in inherited:
            os.close(descriptor)
    classes = document["classes"]
    assert document["processes"] == 1
    assert classes["fd_limit"] > 0
    assert classes["ok"] > 0
    assert classes["ok"] + classes["fd_limit"] == document["requests"]["scheduled"]
    assert answers_accounted_for(document) == server.counts["answered"]
    assert "client_resources" in [limit["code"] for limit in document["limits"]]
    assert exit_code == 4


@pytest.fixture
def namespace() -> Iterator[list[str]]:
    """A network namespace with `PORTS` local ports: what to put before a command to be in it."""
    make = ["unshare", "--map-root-user", "--net"]
    set_up = f"""ip link set lo up &&
        echo '50000 {50000 + PORTS - 1}' > /proc/sys/net/ipv4/ip_local_port_range &&
        echo ready && exec cat"""
    pipe = subprocess.PIPE
    try:
        holder = subprocess.Popen(
            [*make, "sh", "-c", set_up], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed: apt-get install util-linux")
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != "ready\n":
            pytest.skip(f"no network namespace here: {holder.stderr.read().strip()}")
        target = ["--target", str(holder.pid), "--user", "--net", "--preserve-credentials"]
        yield ["nsenter", *target]
        holder.stdin.close()


@BACKENDS
def test_exhausted_ports_are_a_limit_of_the_client(namespace: list[str], backend: str) -> None:
    options = [*SHORT, "--backend", backend]
    with null_server(before=namespace) as server:
        document, exit_code = run_engine(server.url, "-c", "20", *options, before=namespace)
    classes = document["classes"]
    # The null server's port, and the preflight's in TIME_WAIT, may be of the same range.
    assert PORTS - 2 <= document["connections"]["established"] <= PORTS
    assert classes["addr_not_avail"] > 0
    assert classes["ok"] > 0
    assert classes["ok"] + classes["addr_not_avail"] == document["requests"]["scheduled"]
    assert answers_accounted_for(document) == server.counts["answered"]
    assert "client_resources" in [limit["code"] for limit in document["limits"]]
    assert exit_code == 4


def test_source_addresses_multiply_the_ports(namespace: list[str]) -> None:
    sources = [f"--source=127.0.0.{host}" for host in range(2, 6)]
    with null_server(before=namespace) as server:
        document, _ = run_engine(server.url, "-c", "20", *SHORT, *sources, before=namespace)
    assert document["connections"]["established"] == 20
    assert document["connections"]["served"] == 20
    assert document["classes"]["ok"] == document["requests"]["scheduled"]
    assert answers_accounted_for(document) == server.counts["answered"]
