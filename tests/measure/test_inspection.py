"""Inspections of real servers, most of which misbehave on purpose."""

from dataclasses import replace

import pytest

from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate
from deadheat.catalog import load_server, selection
from deadheat.errors import DeadheatError
from deadheat.load import LoadResult
from deadheat.measure import inspection
from deadheat.measure.contender import Instance
from deadheat.measure.inspection import Inspection, inspect
from deadheat.measure.world import World
from tests.servers.contenders import CATALOG


def candidate(name: str) -> Candidate:
    folder = CATALOG / "servers" / name
    server = load_server(folder, CATALOG / "recipes")
    built = Built(server, "key", folder, "", 0.0, {}, {}, cached=True)
    return Candidate(selection(server), built, "1.0", None)


@pytest.fixture(autouse=True)
def served_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load briefly; on a busy machine the longer retry follows."""
    monkeypatch.setattr(inspection, "SERVE_S", 0.3)
    monkeypatch.setattr(inspection, "RETRY_S", 1.0)
    monkeypatch.setattr(inspection, "IDLE_S", 0.2)


def test_good_server_serves_every_connection(world: World) -> None:
    inspected = inspect(world, candidate("hello"), [5, 20])
    assert inspected.state == "works"
    assert inspected.served == {"5": 5, "20": 20}
    assert inspected.behavior is not None
    assert inspected.behavior.status == 200
    assert inspected.stop is not None
    assert Inspection.from_json(inspected.to_json()) == inspected


@pytest.mark.parametrize("late", ["timeout_first_byte", "tls_timeout"])
def test_failed_short_load_is_retried_for_longer(
    late: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: on a busy machine, an answer or handshake later than a second failed a server."""
    load, loads_s = inspection.load_server, []

    def late_at_first(
        world: World, instance: Instance, connections: int, duration_s: float, *_: object
    ) -> LoadResult:
        loads_s.append(duration_s)
        result = load(world, instance, connections, duration_s)
        return replace(result, errors={late: 1} if len(loads_s) == 1 else {})

    monkeypatch.setattr(inspection, "load_server", late_at_first)
    assert inspect(world, candidate("hello"), [5]).cautions == ()
    assert loads_s == [0.3, 1.0, 1.0, 1.0]


def test_a_first_request_that_is_late_is_retried_for_longer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a slow first request counted 0 of 1000 connections, without another load."""
    load = inspection.load_server

    def late(
        world: World, instance: Instance, connections: int, duration_s: float, *_: object
    ) -> LoadResult:
        if duration_s < 0.4:
            raise DeadheatError("the first request failed")
        return load(world, instance, connections, duration_s)

    monkeypatch.setattr(inspection, "load_server", late)
    assert inspect(world, candidate("hello"), [5]).served == {"5": 5}


def test_loads_that_differ_give_a_range(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: rows changed their class between two runs, because each had one load."""
    load, counts = inspection.load_server, [5, 4, 5, 3]

    def fewer(
        world: World, instance: Instance, connections: int, duration_s: float, *_: object
    ) -> LoadResult:
        result = load(world, instance, connections, duration_s)
        late = {"timeout_first_byte": 1} if len(counts) == 4 else {}
        return replace(result, connections_served=counts.pop(0), errors=late)

    monkeypatch.setattr(inspection, "load_server", fewer)
    inspected = inspect(world, candidate("hello"), [5])
    assert (inspected.served, inspected.served_most) == ({"5": 3}, {"5": 5})
    assert inspected.cautions == ("3 to 5 of 5 connections served in 1 s",)


def test_errors_of_a_discarded_load_and_connections_without_an_answer_are_both_noted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short load does not count, except for what no busy machine can cause."""
    load, short = inspection.load_server, [True, False, False, False]

    def resets_at_first(
        world: World, instance: Instance, connections: int, duration_s: float, *_: object
    ) -> LoadResult:
        result = load(world, instance, connections, duration_s)
        errors = {"reset": 2, "timeout_first_byte": 1} if short.pop(0) else {}
        return replace(result, connections_served=4, errors=errors)

    monkeypatch.setattr(inspection, "load_server", resets_at_first)
    assert inspect(world, candidate("hello"), [5]).cautions == (
        "4 of 5 connections served in 1 s",
        "errors at 5 connections: 2 reset",
    )


def test_bug_a_late_close_was_a_wrong_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    load = inspection.load_server

    def late_close(
        world: World, instance: Instance, connections: int, duration_s: float, *_: object
    ) -> LoadResult:
        return replace(load(world, instance, connections, duration_s), errors={"unclosed": 1})

    monkeypatch.setattr(inspection, "load_server", late_close)
    inspected = inspect(world, candidate("hello"), [5])
    assert inspected.state == "works, with a note"
    assert "unclosed" in inspected.cautions[0]


def test_no_levels_means_no_load(world: World) -> None:
    assert inspect(world, candidate("hello")).served == {}


def test_server_that_ignores_its_stop_signal_works_with_a_note(world: World) -> None:
    inspected = inspect(world, candidate("outlives-sigterm"))
    assert inspected.state == "works, with a note"
    assert inspected.cautions == ("killed, because it had not ended 0.2 s after SIGTERM",)


def test_reports_a_server_that_dies_under_load(world: World) -> None:
    inspected = inspect(world, candidate("dies-mid-trial"), [5])
    assert inspected.state == "works, with a note"
    assert inspected.served == {"5": 0}


def test_server_that_does_not_start_fails_with_its_reason(world: World) -> None:
    inspected = inspect(world, candidate("exits-at-start"), [5])
    assert inspected.state == "fails"
    assert "ended before it was ready" in (inspected.fault or "")


def test_server_that_answers_every_path_fails(world: World) -> None:
    inspected = inspect(world, candidate("tires"), [5])
    assert inspected.fault == "expected an error for an unknown path, such as 404, got 200"
    assert inspected.served == {}


def test_unbuilt_server_is_missing_or_fails(world: World) -> None:
    hello = candidate("hello").selection
    lacking = inspect(world, Candidate(hello, None, None, "no maker", ("get maker",)))
    assert lacking.state == "missing here"
    assert lacking.lacks == ("get maker",)
    assert inspect(world, Candidate(hello, None, None, "step failed")).state == "fails"
