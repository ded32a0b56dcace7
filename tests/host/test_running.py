"""A server that the user started is found by its listening socket, and only read."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from deadheat.host import HostError
from deadheat.host.local import LocalHost
from tests.host.support import eventually

# Listens, prints its port, and forks as many workers as it is told; each spins.
SPINNING = """
import os, socket, sys
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
for _ in range(int(sys.argv[1])):
    if not os.fork():
        break
while True: pass
"""


@pytest.fixture
def spinning(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], int]]:
    words = [sys.executable, "-I", "-S", "-c", SPINNING, str(request.param)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)


@pytest.mark.parametrize("spinning", [0, 2], indirect=True)
def test_a_running_server_is_found_by_its_socket(
    spinning: tuple[subprocess.Popen[str], int], request: pytest.FixtureRequest
) -> None:
    process, port = spinning
    workers = request.node.callspec.params["spinning"]
    with LocalHost() as host:
        found = host.find_running(("localhost", port))
        assert found is not None
        assert set(found.cpus) == os.sched_getaffinity(process.pid)
        eventually(lambda: host.usage(found.process).processes == 1 + workers)
        before = host.usage(found.process)
        assert before.memory_bytes > 0
        eventually(lambda: host.usage(found.process).cpu_s > before.cpu_s)
        watch = host.watch([found.process], 60)
        host.sleep(0.1)
        assert [*host.unwatch(watch)[-1].usage] == [found.process]
        again = host.find_running(("127.0.0.1", port))
        assert again == found, "several URLs of one server are one process"
        for request_name in (host.freeze, host.thaw):
            with pytest.raises(HostError):
                request_name(found.process)
    assert process.poll() is None, "the user's server was ended"


@pytest.mark.parametrize("spinning", [0], indirect=True)
def test_a_running_server_that_has_ended_has_no_usage(
    spinning: tuple[subprocess.Popen[str], int],
) -> None:
    process, port = spinning
    with LocalHost() as host:
        found = host.find_running(("127.0.0.1", port))
        assert found is not None
        process.kill()
        process.wait()
        with pytest.raises(HostError, match="has ended"):
            host.usage(found.process)
        watch = host.watch([found.process], 60)
        assert host.unwatch(watch)[-1].usage == {}


def test_a_server_of_another_machine_is_not_looked_for() -> None:
    with LocalHost() as host:
        assert host.find_running(("192.0.2.1", 80)) is None


def test_says_why_a_running_server_is_not_seen() -> None:
    """Its port may be redirected; and this process, which started the agent, is no server."""
    with LocalHost() as host, socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(HostError, match="a process that started deadheat listens"):
            host.find_running(("127.0.0.1", port))
        listening.close()
        with pytest.raises(HostError, match="a container or a firewall rule"):
            host.find_running(("127.0.0.1", port))


@pytest.mark.parametrize("spinning", [0], indirect=True)
def test_a_socket_of_another_address_is_not_taken(
    spinning: tuple[subprocess.Popen[str], int],
) -> None:
    _, port = spinning
    with LocalHost() as host, pytest.raises(HostError, match=f"listens on port {port}"):
        host.find_running(("127.0.0.2", port))
