import pytest

from deadheat.host import Listener, Listeners
from deadheat.measure.listening import is_known, missed_port, wrong_listener

PORT = 8080
OWN = Listener("127.0.0.1", PORT)


def verdict(
    own: tuple[Listener, ...] = (), others: tuple[Listener, ...] = (), complete: bool = True
) -> str | None:
    wrong = wrong_listener(Listeners(own, others, complete), PORT)
    return wrong.verdict if wrong else None


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
def test_accepts_a_server_that_listens_itself(address: str) -> None:
    listeners = Listeners([Listener(address, PORT)], [], complete=True)
    assert wrong_listener(listeners, PORT) is None
    assert is_known(listeners, PORT)


def test_names_another_process_on_the_port() -> None:
    proxy = Listener("0.0.0.0", PORT, "docker-proxy")
    wrong = wrong_listener(Listeners([], [proxy], complete=True), PORT)
    assert wrong is not None
    assert wrong.verdict == "another-process"
    assert "docker-proxy listens on port 8080" in wrong.reason
    assert "--url http://127.0.0.1:PORT/" in wrong.hint


def test_names_a_process_that_shares_the_port() -> None:
    assert verdict((OWN,), (Listener("0.0.0.0", PORT, "old-server"),)) == "shared-port"


def test_names_a_port_on_which_no_process_listens() -> None:
    """The rules of a firewall redirect it, as docker's do without docker-proxy."""
    assert verdict() == "no-listener"
    assert verdict((Listener("127.0.0.1", 9090),)) == "no-listener"
    assert verdict((Listener("::1", PORT),)) == "no-listener"


def test_unknown_is_not_wrong() -> None:
    unnamed = Listener("127.0.0.1", PORT)
    assert verdict(complete=False) is None
    assert verdict((), (Listener("127.0.0.1", PORT, "nginx"),), complete=False) is None
    assert verdict((), (unnamed,)) is None
    assert verdict((OWN,), (unnamed,)) is None
    assert not is_known(Listeners([], [unnamed], complete=True), PORT)


def test_another_address_of_the_machine_is_no_conflict() -> None:
    assert verdict((OWN,), (Listener("10.0.0.1", PORT, "nginx"),)) is None


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([], None),
        ([OWN], None),
        ([Listener("0.0.0.0", PORT)], None),
        ([Listener("::ffff:127.0.0.1", PORT)], None),  # a JVM's socket, on a slow machine
        ([Listener("::1", PORT)], "ipv6-only"),
        ([Listener("::", PORT)], "ipv6-only"),
        ([Listener("10.0.0.1", PORT)], "another-address"),
        ([Listener("127.0.0.1", 9090)], "another-port"),
        ([Listener("127.0.0.1", 9090), Listener("::1", PORT)], "ipv6-only"),
    ],
)
def test_explains_a_refused_connection(own: list[Listener], expected: str | None) -> None:
    missed = missed_port(Listeners(own, [], complete=True), PORT)
    assert (missed.verdict if missed else None) == expected
