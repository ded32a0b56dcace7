"""Networks: the interface to another host, and a namespace that has only loopback."""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deadheat.host import Exchange, HostError, Listener, Listeners
from deadheat.host.agent import listeners as agent_listeners
from deadheat.host.agent.network import interrupts, route_to
from deadheat.host.agent.program import Json
from deadheat.host.fingerprint import Interface
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python


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


def test_an_exchange_ends_with_the_connection_or_after_silence(host: LocalHost) -> None:
    def echo_and_close(connection: socket.socket) -> None:
        connection.sendall(b"you said: " + connection.recv(100))
        connection.close()

    with server(echo_and_close) as address:
        exchange = host.exchange(address, b"\x00\xff hi", 60, 60)
    assert (exchange.received, exchange.closed) == (b"you said: \x00\xff hi", True)
    with server(lambda connection: connection.sendall(b"hello")) as address:
        exchange = host.exchange(address, b"hi", 2, 60)
    assert (exchange.received, exchange.closed) == (b"hello", False)


def test_a_refused_connection_is_an_error(host: LocalHost) -> None:
    port = host.free_port()
    with pytest.raises(HostError, match=f"no connection to 127.0.0.1:{port}: .*refused"):
        host.exchange(("127.0.0.1", port), b"hi", 1, 60)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_reset_before_the_first_byte_is_an_error(host: LocalHost) -> None:
    def read_and_reset(connection: socket.socket) -> None:
        connection.recv(100)
        reset(connection)

    with server(read_and_reset) as address, pytest.raises(HostError, match="closed the connection"):
        host.exchange(address, b"hi", 60, 60)


def test_an_endless_response_is_an_error(host: LocalHost) -> None:
    def flood(connection: socket.socket) -> None:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while True:
                connection.sendall(bytes(1 << 16))

    with server(flood) as address, pytest.raises(HostError, match="sent more than"):
        host.exchange(address, b"hi", 60, 60)


def test_bug_single_bytes_kept_an_exchange_open_forever(host: LocalHost) -> None:
    """Each byte began a new wait, so a byte every 0.1 s made `run` hang."""

    def trickle(connection: socket.socket) -> None:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while True:
                connection.sendall(b"x")
                time.sleep(0.05)

    with server(trickle) as address:
        exchange = host.exchange(address, b"hi", 60, 1)
    assert (exchange.closed, exchange.in_time) == (False, False)
    assert set(exchange.received) == set(b"x")


def test_an_exchange_with_a_server_that_does_not_read_ends_at_its_deadline(host: LocalHost) -> None:
    with server(lambda _: None) as address:
        exchange = host.exchange(address, bytes(16 << 20), 60, 1)
    assert exchange == Exchange(b"", closed=False, in_time=False)


BACKLOG = 77
LISTEN = """
import signal, socket, sys
address, port, family, backlog = sys.argv[1], *map(int, sys.argv[2:])
sockets = [socket.create_server((address, port), family=family, backlog=backlog)]
print("ready", flush=True)
signal.pause()
"""


def start_listener(host: LocalHost, folder: Path, port: int, address: str = "127.0.0.1") -> str:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    code = f"import os\nif os.fork(): os.wait()\n{LISTEN}"  # a child listens
    process = host.start(
        python(code, address, str(port), str(int(family)), str(BACKLOG)), log(folder)
    )
    eventually(lambda: "ready" in (folder / "log.txt").read_text())
    return process


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_lists_the_listening_sockets_of_a_tree(
    host: LocalHost, tmp_path: Path, address: str
) -> None:
    port = host.free_port()
    process = start_listener(host, tmp_path, port, address)
    listeners = host.listeners(process, port)
    members = host.members(process)
    assert members == host.members(process), "with their start times"
    assert len(members) == 2
    host.stop(process, "SIGKILL", 0)
    most = int(Path("/proc/sys/net/core/somaxconn").read_text())
    own = [Listener(address, port, backlog=min(BACKLOG, most))]
    assert listeners == Listeners(own, [], complete=True, backlog_max=most)
    assert str(own[0]) == (f"[::1]:{port}" if address == "::1" else f"127.0.0.1:{port}")


def test_a_kernel_without_sock_diag_shows_no_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        diagnosed = own_listener(port)
        monkeypatch.setattr(agent_listeners, "NETLINK_SOCK_DIAG", 99)  # no such protocol
        without = own_listener(port)
    assert diagnosed["address"] == "127.0.0.1"
    assert without == {**diagnosed, "backlog": None}


def own_listener(port: int) -> Json:
    """The socket of this process that listens on a port."""
    own = agent_listeners.listeners([os.getpid()], port)["own"]
    row: Json
    (row,) = [row for row in own if row["port"] == port]
    return row


def test_names_another_process_that_listens_on_a_port(host: LocalHost, tmp_path: Path) -> None:
    port = host.free_port()
    listening = start_listener(host, tmp_path, port)
    sleeping = host.start(python("import signal; signal.pause()"), str(tmp_path / "other"))
    listeners = host.listeners(sleeping, port)
    for process in (listening, sleeping):
        host.stop(process, "SIGKILL", 0)
    assert listeners.own == []
    (other,) = listeners.others
    assert (other.address, other.port) == ("127.0.0.1", port)
    assert other.process is not None
    assert other.process.startswith("python")


def test_says_that_sockets_of_another_user_or_in_a_sandbox_cannot_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_listeners, "sockets_of", lambda _: None)
    assert not agent_listeners.listeners([os.getpid()], 80)["complete"]
    monkeypatch.setattr(agent_listeners, "listening_sockets", dict)
    listeners = agent_listeners.listeners([], 80)
    assert (listeners["own"], listeners["others"], listeners["complete"]) == ([], [], False)


def test_free_ports_are_distinct_and_outside_the_range_of_client_ports(host: LocalHost) -> None:
    ports = [host.free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()
    low, high = map(int, (host.fingerprint().sysctl["net.ipv4.ip_local_port_range"] or "").split())
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


ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth1\t000AA8C0\t00000000\t0001\t0\t0\t200\t00FFFFFF\t0\t0\t0
wlan0\t000AA8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0
tun0\t0A0AA8C0\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
down0\t0B0AA8C0\t00000000\t0000\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""
INTERRUPTS = """\
           CPU0       CPU1       CPU3
 38:          0     287873          5  PCI-MSIX-0000:00:03.0   1-edge      eth1-rx-0
 39:          0          0          7  PCI-MSIX-0000:00:03.0   2-edge      eth1-tx-0
 40:      24149          0          0  PCI-MSIX-0000:00:04.0   1-edge      eth10-rx-0
 41:          9          9          9  PCI-MSIX-0000:00:04.0   1-edge      veth1
LOC:   13486005   16955518          0  Local timer interrupts
"""


@pytest.mark.parametrize(
    ("address", "name"),
    [("192.168.10.10", "tun0"), ("192.168.10.11", "eth1"), ("192.168.11.1", "eth0")],
)
def test_the_most_specific_route_that_is_up_names_the_interface(address: str, name: str) -> None:
    assert route_to(ROUTES, address) == name
    assert route_to(ROUTES.splitlines()[0], address) is None


def test_counts_the_interrupts_of_an_interface_and_of_no_other() -> None:
    served, _ = interrupts(INTERRUPTS, "eth1", bus="")
    assert served == {"1": 287873, "3": 12}
    assert interrupts(INTERRUPTS, "cable", bus="") == ({}, [])


def test_loopback_has_no_driver_and_no_interrupts() -> None:
    with LocalHost() as host:
        interface = host.interface_to("127.0.0.1")
        assert host.local_address("127.0.0.1") == "127.0.0.1"
    assert interface is not None
    assert interface["mtu_bytes"] > 1000
    assert (interface["driver"], interface["interrupts"]) == (None, {})


def test_the_cpus_that_served_interrupts_are_those_whose_count_rose() -> None:
    reading = {
        "driver": "made",
        "mtu_bytes": 9000,
        "offloads": {"tso": True},
        "interrupts": {"0": 5, "1": 7},
        "interrupt_targets": [1],
    }
    later = {**reading, "interrupts": {"0": 5, "1": 9, "10": 1}}
    interface = Interface.of(reading, later)
    assert interface is not None
    assert interface.interrupt_cpus == (1, 10)
    assert interface.interrupt_targets == (1,)
    assert Interface.of(None, later) is None


SERVER = (
    "import socket, sys\n"
    "listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
    "while True: listener.accept()[0].sendall(b'inside')"
)


@pytest.fixture
def isolated(containment: str) -> LocalHost:
    try:
        return LocalHost(containment, isolate=True)
    except HostError as error:
        pytest.skip(str(error))


def test_its_processes_reach_each_other(isolated: LocalHost, tmp_path: Path) -> None:
    with isolated as host:
        port = host.free_port()
        host.start(python(SERVER, str(port)), log(tmp_path))

        def answers() -> bool:
            try:
                return host.exchange(("127.0.0.1", port), b"", 1.0, 5.0).received == b"inside"
            except HostError:
                return False

        eventually(answers)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 1.0)


def test_its_processes_reach_nothing_outside(isolated: LocalHost) -> None:
    code = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
    with isolated as host, socket.create_server(("127.0.0.1", 0)) as outside:
        port = str(outside.getsockname()[1])
        assert host.run(python(code, port), timeout_s=60).exit_code == 1
        assert host.run(python("open('/proc/net/route').readlines()[1]"), 60).exit_code == 1
        assert host.fingerprint().network == "isolated"
    with LocalHost(host.containment) as usual:
        assert usual.fingerprint().network is None
