"""The freeze check, on a virtual clock."""

from dataclasses import replace

import pytest

from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate
from deadheat.catalog import load_server, selection
from deadheat.host import Completed, Exchange
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.measure.review import FREEZE_S, freeze_faults
from deadheat.measure.world import World
from tests.measure.made_evidence import made_world
from tests.servers.contenders import CATALOG

GOOD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def world(host: FakeHost) -> World:
    return world_of(host)


def world_of(host: FakeHost) -> World:
    """The load has no result, which the check does not need."""
    host.on_run(lambda _: True, lambda *_: Completed(1, "", "", 1.0, 0.0))
    return made_world(host)


def candidate(name: str) -> Candidate:
    folder = CATALOG / "servers" / "hello"
    server = load_server(folder, CATALOG / "recipes")
    built = Built(server, "key", folder, "", 0.0, {}, {}, cached=True)
    chosen = selection(server)
    start = chosen.start.model_copy(update={"command": (name, "{port}")})
    return Candidate(replace(chosen, start=start), built, "1.0", None)


def serve(host: FakeHost, name: str, server: FakeServer) -> Candidate:
    host.on_start(lambda command: command[0] == name, lambda *_: server)
    return candidate(name)


def test_all_servers_are_frozen_at_the_same_time(host: FakeHost, world: World) -> None:
    candidates = [serve(host, name, FakeServer(answer=lambda _: GOOD)) for name in "abc"]
    assert freeze_faults(world, candidates) == [None, None, None]
    assert FREEZE_S < host.now_s() < 2 * FREEZE_S
    names = [name for name, _ in host.calls if name != "start"]
    assert names == ["freeze"] * 3 + ["thaw", "run"] * 3 + ["thaw", "stop"] * 3


def test_a_watchdog_that_replaces_a_frozen_worker_is_a_fault(host: FakeHost, world: World) -> None:
    """Regression: gunicorn replaced the workers of python-falcon in races."""
    watched = serve(host, "watched", FakeServer(answer=lambda _: GOOD, watchdog_s=60))
    patient = serve(host, "patient", FakeServer(answer=lambda _: GOOD, watchdog_s=86_400))
    assert freeze_faults(world, [watched, patient]) == [
        "after 90 s frozen: 1 of its 2 processes ended, 1 began",
        None,
    ]


def test_a_server_that_does_not_start_keeps_no_other_from_the_check(
    host: FakeHost, world: World
) -> None:
    dead = serve(host, "dead", FakeServer(dies_after_s=0, exit_code=1))
    good = serve(host, "good", FakeServer(answer=lambda _: GOOD))
    fault, none = freeze_faults(world, [dead, good])
    assert fault is not None
    assert "ended before it was ready" in fault
    assert none is None


def test_a_server_that_dies_while_frozen_is_a_fault(host: FakeHost, world: World) -> None:
    mortal = serve(host, "mortal", FakeServer(answer=lambda _: GOOD, dies_after_s=60))
    assert freeze_faults(world, [mortal]) == [
        "after 90 s frozen: no readable HTTP response to GET /"
    ]


class SlowAfterThaw(FakeHost):
    """Its servers answer after a second once they have been frozen."""

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        if silence_s < 1 and any(name == "thaw" for name, _ in self.calls):
            return Exchange(b"", closed=False)
        return super().exchange(address, payload, silence_s, deadline_s)


def test_a_server_that_needs_a_second_after_its_thaw_passes() -> None:
    """Regression: akka-http was asked once after its thaw, and had 0.3 s to answer."""
    host = SlowAfterThaw()
    slow = serve(host, "slow", FakeServer(answer=lambda _: GOOD))
    assert freeze_faults(world_of(host), [slow]) == [None]
