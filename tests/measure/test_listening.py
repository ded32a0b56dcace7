from typing import Literal

import pytest

from deadheat.host import Listener, Listeners
from deadheat.measure.listening import backlog_reading, is_known, missed_port, wrong_listener

PORT = 8080
OWN = Listener("127.0.0.1", PORT)
ADDRESS = "only, and deadheat connects to 127.0.0.1"


def reason(
    own: tuple[Listener, ...] = (), others: tuple[Listener, ...] = (), complete: bool = True
) -> str:
    wrong = wrong_listener(Listeners(own, others, complete), PORT)
    return wrong.reason if wrong else ""


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
def test_accepts_a_server_that_listens_itself(address: str) -> None:
    listeners = Listeners([Listener(address, PORT)], [], complete=True)
    assert wrong_listener(listeners, PORT) is None
    assert is_known(listeners, PORT)


def test_names_another_process_on_the_port() -> None:
    proxy = Listener("0.0.0.0", PORT, "docker-proxy")
    wrong = wrong_listener(Listeners([], [proxy], complete=True), PORT)
    assert wrong is not None
    assert "docker-proxy listens on port 8080" in wrong.reason
    assert "--url http://127.0.0.1:PORT/" in wrong.hint


def test_names_a_process_that_shares_the_port() -> None:
    assert "shared port: old-server" in reason((OWN,), (Listener("0.0.0.0", PORT, "old-server"),))


def test_names_a_port_on_which_no_process_listens() -> None:
    """The rules of a firewall redirect it, as docker's do without docker-proxy."""
    assert "no process of this machine listens" in reason()
    assert "no process of this machine listens" in reason((Listener("127.0.0.1", 9090),))
    assert "no process of this machine listens" in reason((Listener("::1", PORT),))


def test_unknown_is_not_wrong() -> None:
    unnamed = Listener("127.0.0.1", PORT)
    assert not reason(complete=False)
    assert not reason((), (Listener("127.0.0.1", PORT, "nginx"),), complete=False)
    assert not reason((), (unnamed,))
    assert not reason((OWN,), (unnamed,))
    assert not is_known(Listeners([], [unnamed], complete=True), PORT)


def test_another_address_of_the_machine_is_no_conflict() -> None:
    assert not reason((OWN,), (Listener("10.0.0.1", PORT, "nginx"),))


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
