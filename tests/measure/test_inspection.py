"""Inspections of real servers, most of which misbehave on purpose."""

from collections.abc import Callable
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


def change_loads(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[LoadResult, int], LoadResult]
) -> list[float]:
    """Change the result of each load, numbered from 1. The list gets the duration of each."""
    load, loads_s = inspection.load_server, []

    def changed(
        world: World, instance: Instance, connections: int, duration_s: float, *_: object
    ) -> LoadResult:
        loads_s.append(duration_s)
        return change(load(world, instance, connections, duration_s), len(loads_s))

    monkeypatch.setattr(inspection, "load_server", changed)
    return loads_s


@pytest.mark.parametrize("late", ["timeout_first_byte", "tls_timeout"])
def test_failed_short_load_is_retried_for_longer(
    late: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: on a busy machine, an answer or handshake later than a second failed a server."""
    loads_s = change_loads(
        monkeypatch, lambda result, n: replace(result, errors={late: 1} if n == 1 else {})
    )
    assert inspect(world, candidate("hello"), [5]).cautions == ()
    assert loads_s == [0.3, 1.0, 1.0, 1.0]


def test_a_first_request_that_is_late_is_retried_for_longer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a slow first request counted 0 of 1000 connections, without another load."""

    def late(result: LoadResult, number: int) -> LoadResult:
        if number == 1:
            raise DeadheatError("the first request failed")
        return result

    change_loads(monkeypatch, late)
    assert inspect(world, candidate("hello"), [5]).served == {"5": 5}


def test_loads_that_differ_give_a_range(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: rows changed their class between two runs, because each had one load."""

    def fewer(result: LoadResult, number: int) -> LoadResult:
        late = {"timeout_first_byte": 1} if number == 1 else {}
        return replace(result, connections_served=(5, 4, 5, 3)[number - 1], errors=late)

    change_loads(monkeypatch, fewer)
    inspected = inspect(world, candidate("hello"), [5])
    assert (inspected.served, inspected.served_most) == ({"5": 3}, {"5": 5})
    assert inspected.cautions == ("3 to 5 of 5 connections served in 1 s",)


def test_errors_of_a_discarded_load_and_connections_without_an_answer_are_both_noted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short load does not count, except for what no busy machine can cause."""

    def resets_at_first(result: LoadResult, number: int) -> LoadResult:
        errors = {"reset": 2, "timeout_first_byte": 1} if number == 1 else {}
        return replace(result, connections_served=4, errors=errors)

    change_loads(monkeypatch, resets_at_first)
    assert inspect(world, candidate("hello"), [5]).cautions == (
        "4 of 5 connections served in 1 s",
        "errors at 5 connections: 2 reset",
    )


def test_bug_a_late_close_was_a_wrong_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    change_loads(monkeypatch, lambda result, _: replace(result, errors={"unclosed": 1}))
    inspected = inspect(world, candidate("hello"), [5])
    assert inspected.state == "works, with a note"
    assert "unclosed" in inspected.cautions[0]


def test_server_that_ignores_its_stop_signal_works_with_a_note(world: World) -> None:
    inspected = inspect(world, candidate("outlives-sigterm"))
    assert inspected.state == "works, with a note"
    assert inspected.cautions == ("killed, because it had not ended 0.2 s after SIGTERM",)
    assert inspected.served == {}, "no levels, no load"


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
