"""A host in a network namespace that has only loopback."""

import socket
from pathlib import Path

import pytest

from deadheat.host import HostError
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python

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
