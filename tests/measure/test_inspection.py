"""What an inspection says of real servers, most of which misbehave on purpose."""

from dataclasses import replace

import pytest

from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate
from deadheat.catalog import load_server, selection
from deadheat.load import LoadResult
from deadheat.measure import inspection
from deadheat.measure.inspection import Inspection, inspect
from deadheat.measure.lifecycle import Instance
from deadheat.measure.world import World
from tests.servers.contenders import CATALOG


def candidate(name: str) -> Candidate:
    folder = CATALOG / "servers" / name
    server = load_server(folder, CATALOG / "recipes")
    built = Built(server, "key", folder, "", 0.0, {}, {}, cached=True)
    return Candidate(selection(server), built, "1.0", None)


@pytest.fixture(autouse=True)
def served_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is too short for a busy machine, it is served patiently."""
    monkeypatch.setattr(inspection, "SERVE_S", 0.2)


def test_a_good_server_is_served_to_every_connection(world: World) -> None:
    found = inspect(world, candidate("hello"), [5, 20])
    assert found.state == "works"
    assert found.served == {"5": 5, "20": 20}
    assert found.behavior is not None
    assert found.behavior["status"] == 200
    assert found.stop is not None
    assert Inspection.from_json(found.to_json()) == found


def test_what_went_wrong_in_a_short_load_is_asked_again_patiently(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: an answer later than a second, on a busy machine, was held against a server."""
    monkeypatch.setattr(inspection, "SERVE_PATIENTLY_S", 0.4)
    load, loads_s = inspection._load, []

    def late_at_first(
        world: World, instance: Instance, connections: int, duration_s: float
    ) -> LoadResult:
        loads_s.append(duration_s)
        result = load(world, instance, connections, duration_s)
        return replace(result, errors={"timeout_first_byte": 1} if len(loads_s) == 1 else {})

    monkeypatch.setattr(inspection, "_load", late_at_first)
    assert inspect(world, candidate("hello"), [5]).cautions == ()
    assert loads_s == [0.2, 0.4]


def test_without_levels_nothing_is_loaded(world: World) -> None:
    assert inspect(world, candidate("hello")).served == {}


def test_a_server_that_outlives_its_stop_signal_works_with_a_note(world: World) -> None:
    found = inspect(world, candidate("outlives-sigterm"))
    assert found.state == "works, with a note"
    assert found.cautions == ("not ended 0.2 s after SIGTERM, and killed",)


def test_a_server_that_dies_under_load_is_told(world: World) -> None:
    found = inspect(world, candidate("dies-mid-trial"), [5])
    assert found.state == "works, with a note"
    assert found.served == {"5": 0}


def test_a_server_that_does_not_start_fails_with_its_reason(world: World) -> None:
    found = inspect(world, candidate("exits-at-start"), [5])
    assert found.state == "fails"
    assert "ended before it was ready" in (found.fault or "")


def test_what_could_not_be_built_is_missing_or_fails(world: World) -> None:
    one = candidate("hello").selection
    lacking = inspect(world, Candidate(one, None, None, "no maker", ("get maker",)))
    assert lacking.state == "missing here"
    assert lacking.lacks == ("get maker",)
    assert inspect(world, Candidate(one, None, None, "step failed")).state == "fails"
