import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deadheat.host import HostError
from deadheat.host.local import LocalHost


@pytest.fixture(scope="module")
def host() -> Iterator[LocalHost]:
    with LocalHost() as local:
        yield local


@contextlib.contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """A listener that serves one connection and keeps it open until the context ends."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                serve(connection)
                if connection.fileno() >= 0:
                    over.wait()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()
        over.set()
        thread.join()


def test_an_exchange_reads_until_the_connection_is_closed(host: LocalHost) -> None:
    def echo_and_close(connection: socket.socket) -> None:
        connection.sendall(b"you said: " + connection.recv(100))
        connection.close()

    with server(echo_and_close) as address:
        exchange = host.exchange(address, b"\x00\xff hi", silence_s=60)
    assert (exchange.received, exchange.closed) == (b"you said: \x00\xff hi", True)


def test_an_exchange_ends_after_silence(host: LocalHost) -> None:
    with server(lambda connection: connection.sendall(b"hello")) as address:
        exchange = host.exchange(address, b"hi", silence_s=2)
    assert (exchange.received, exchange.closed) == (b"hello", False)


def test_a_refused_connection_is_an_error(host: LocalHost) -> None:
    port = host.free_port()
    with pytest.raises(HostError, match=f"no connection to 127.0.0.1:{port}: .*refused"):
        host.exchange(("127.0.0.1", port), b"hi", 1)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_reset_before_the_first_byte_is_an_error(host: LocalHost) -> None:
    def read_and_reset(connection: socket.socket) -> None:
        connection.recv(100)
        reset(connection)

    with server(read_and_reset) as address, pytest.raises(HostError, match="closed the connection"):
        host.exchange(address, b"hi", 60)


def test_an_endless_response_is_an_error(host: LocalHost) -> None:
    def flood(connection: socket.socket) -> None:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while True:
                connection.sendall(bytes(1 << 16))

    with server(flood) as address, pytest.raises(HostError, match="sent more than"):
        host.exchange(address, b"hi", 60)


def test_free_ports_are_free_and_distinct(host: LocalHost) -> None:
    ports = [host.free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_free_ports_are_outside_the_range_of_client_ports(host: LocalHost) -> None:
    low, high = map(int, host.fingerprint()["sysctl"]["net.ipv4.ip_local_port_range"].split())
    if low <= 10_000 and high == 65_535:
        pytest.skip("all ports of this host are in the range")
    assert not low <= host.free_port() <= high


def test_read_tail_returns_the_last_bytes(host: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nlast \xff\n")
    assert host.read_tail(str(path), 7) == "last \N{REPLACEMENT CHARACTER}\n"
    assert host.read_tail(str(path), 1000).startswith("first")
    with pytest.raises(HostError, match="cannot read /no/such/log: No such file"):
        host.read_tail("/no/such/log", 10)
