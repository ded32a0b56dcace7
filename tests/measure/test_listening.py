from typing import Literal

import pytest

from deadheat.host import Listener, Listeners
from deadheat.measure.listening import backlog_reading, is_known, missed_port, wrong_listener

PORT = 8080
OWN = Listener("127.0.0.1", PORT)
ADDRESS = "only, and deadheat connects to 127.0.0.1"


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
def test_accepts_a_server_that_listens_itself(address: str) -> None:
    listeners = Listeners([Listener(address, PORT)], [], complete=True)
    assert wrong_listener(listeners, PORT) is None
    assert is_known(listeners, PORT)


PROXY = Listener("0.0.0.0", PORT, "docker-proxy")
UNNAMED = Listener("127.0.0.1", PORT)
NO_PROCESS = "no process of this machine listens"  # the rules of a firewall redirect the port


@pytest.mark.parametrize(
    ("own", "others", "complete", "said"),
    [
        ([], [PROXY], True, "docker-proxy listens on port 8080"),
        ([OWN], [PROXY], True, "shared port: docker-proxy"),
        ([], [], True, NO_PROCESS),
        ([Listener("127.0.0.1", 9090)], [], True, NO_PROCESS),
        ([Listener("::1", PORT)], [], True, NO_PROCESS),
        ([OWN], [Listener("10.0.0.1", PORT, "nginx")], True, ""),  # another address
        ([], [], False, ""),  # what is unknown is not wrong
        ([], [PROXY], False, ""),
        ([], [UNNAMED], True, ""),
        ([OWN], [UNNAMED], True, ""),
    ],
)
def test_says_who_answers_instead_of_a_server(
    own: list[Listener], others: list[Listener], complete: bool, said: str
) -> None:
    listeners = Listeners(own, others, complete)
    wrong = wrong_listener(listeners, PORT)
    assert (wrong is not None) == bool(said)
    assert said in (wrong.reason if wrong else "")
    assert is_known(listeners, PORT) == (OWN in own)
    if wrong is not None:
        assert ("--url http://127.0.0.1:PORT/" in wrong.hint) == (OWN not in own)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([], None),
        ([OWN], None),
        ([Listener("0.0.0.0", PORT)], None),
        ([Listener("::ffff:127.0.0.1", PORT)], None),  # a JVM's socket, on a slow machine
        ([Listener("::1", PORT)], ADDRESS),
        ([Listener("::", PORT)], ADDRESS),
        ([Listener("10.0.0.1", PORT)], ADDRESS),
        ([Listener("127.0.0.1", 9090)], "it listens on 127.0.0.1:9090, not on port 8080"),
        ([Listener("127.0.0.1", 9090), Listener("::1", PORT)], ADDRESS),
    ],
)
def test_explains_a_refused_connection(own: list[Listener], expected: str | None) -> None:
    missed = missed_port(Listeners(own, [], complete=True), PORT)
    assert (missed is None) == (expected is None)
    assert (expected or "") in (missed.reason if missed else "")


@pytest.mark.parametrize(
    ("declared", "seen", "most", "agrees"),
    [
        (256, 256, 4096, True),
        (4096, 128, 128, True),  # lowered by the kernel
        ("system", 4096, 4096, True),
        (256, 4096, 4096, False),  # Play: the option was not read
        ("system", 128, 4096, False),
        (256, None, 4096, None),
        ("system", 4096, None, None),
    ],
)
def test_compares_the_backlog_with_the_manifest(
    declared: int | Literal["system"], seen: int | None, most: int | None, agrees: bool | None
) -> None:
    """Regression: Play's backlog of 256 was 4096 in the stored replays."""
    listener = Listener("127.0.0.1", PORT, backlog=seen)
    listeners = Listeners([listener], [], complete=True, backlog_max=most)
    reading = backlog_reading(listeners, PORT, "127.0.0.1", declared)
    assert reading.agrees is agrees
    assert ("server.toml says" in str(reading)) == (agrees is False)


def test_every_socket_of_a_port_needs_the_backlog() -> None:
    """Workers with SO_REUSEPORT each have a socket."""
    workers = [Listener("127.0.0.1", PORT, backlog=backlog) for backlog in (128, 511)]
    listeners = Listeners(workers, [], complete=True, backlog_max=4096)
    reading = backlog_reading(listeners, PORT, "127.0.0.1", 511)
    assert str(reading) == "it listens with a backlog of 128 and 511; server.toml says 511"
