"""What an edition still has to race, by the runs that it has."""

import json
from dataclasses import replace
from typing import Any

import pytest

from deadheat.catalog import load_server, selection
from deadheat.edition.parts import (
    PlannedPart,
    Racer,
    done_of,
    open_parts,
    parts_of,
    shared_of,
    together_of,
    unranked_parts,
)
from deadheat.protocol import SliceProtocol
from deadheat.store.listing import RacedContender
from tests.campaign.made_protocols import sliced
from tests.servers.contenders import CATALOG

RULES: SliceProtocol = sliced()
NAMES = ("a", "b", "c", "d")


def racer(name: str, *workloads: str, key: str = "key") -> Racer:
    server = load_server(CATALOG / "servers" / "hello", CATALOG / "recipes")
    chosen = selection(server)
    manifest = server.manifest.model_copy(update={"name": name})
    return Racer(
        replace(chosen, server=replace(server, manifest=manifest)), key, workloads or ("hello",)
    )


def in_language(racer: Racer, language: str) -> Racer:
    server = racer.selection.server
    manifest = server.manifest.model_copy(update={"language": language})
    changed = replace(racer.selection, server=replace(server, manifest=manifest))
    return replace(racer, selection=changed)


RACERS = {name: racer(name) for name in NAMES}
MANIFESTS = {
    name: json.loads(json.dumps(each.selection.server.manifest.model_dump(by_alias=True)))
    for name, each in RACERS.items()
}


def raced(name: str, run_id: str = "1", **values: Any) -> RacedContender:
    known: dict[str, Any] = {
        "run_id": run_id,
        "state": "complete",
        "protocol": RULES,
        "name": name,
        "manifest": MANIFESTS[name],
        "build_key": "key",
        "trials": 3,
        "memory_bytes": None,
        "fault": None,
    }
    return RacedContender(**{**known, **values})


def names_left(*stored: RacedContender) -> list[tuple[str, ...]]:
    done = done_of(RACERS, stored, RULES)
    return [part.names for part in parts_of(RACERS, done, ("a", "b"), 1)]


def test_only_what_no_run_has_is_left_beside_the_shared_servers() -> None:
    assert names_left() == [("a", "b", "c"), ("a", "b", "d")]
    assert names_left(raced("a"), raced("b"), raced("c")) == [("a", "b", "d")]
    assert names_left(*map(raced, NAMES)) == []


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"build_key": "older"}, True),
        ({"manifest": {"name": "c"}}, True),
        ({"manifest": {**MANIFESTS["c"], "notes": ["another"], "support": {}}}, False),
        ({"state": "interrupted"}, True),
        ({"trials": 0}, True),
        ({"trials": 0, "fault": "it exits"}, False),
        ({"protocol": RULES.model_copy(update={"connections": (7,)})}, True),
    ],
)
def test_a_server_races_again_only_if_it_changed(change: dict[str, Any], again: bool) -> None:
    left = names_left(raced("a"), raced("b"), raced("c", **change), raced("d"))
    assert left == ([("a", "b", "c")] if again else [])


def test_a_workload_that_was_added_is_raced_alone() -> None:
    racers = {name: racer(name, "hello", "json") for name in NAMES}
    done = dict.fromkeys(NAMES, frozenset({"hello"}))
    parts = parts_of(racers, done, ("a", "b"), 9)
    assert parts == [PlannedPart(NAMES, ("json",))]
    assert parts[0].cells(racers) == 4


def test_parts_go_on_with_the_servers_that_link_the_runs_so_far() -> None:
    assert shared_of(RACERS, []) == ("a", "b")
    runs = [raced(name, run) for name, run in (("c", "1"), ("d", "1"), ("c", "2"), ("d", "2"))]
    assert shared_of(RACERS, [raced("a"), *runs]) == ("c", "d")
    assert shared_of(RACERS, runs, ["b"]) == ("b",)


def test_a_server_that_failed_links_no_parts() -> None:
    assert shared_of(RACERS, [raced("a", trials=0, fault="it exits")]) == ("b", "c")


def test_memory_limits_how_many_race_together() -> None:
    gib = 1 << 30
    assert together_of(64 * gib, [], 10, 2) == 10
    assert together_of(2 * gib, [], 10, 2) == 1
    assert together_of(9 * gib, [raced("a", memory_bytes=gib)], 10, 2) == 2


def test_servers_without_a_rank_race_again_beside_the_shared_ones() -> None:
    cells = [("hello", "c"), ("hello", "a"), ("json", "d"), ("json", "gone")]
    assert unranked_parts(cells, RACERS, ("a", "b"), 9) == [
        PlannedPart(("a", "b", "c"), ("hello",)),
        PlannedPart(("a", "b", "d"), ("json",)),
    ]


def test_undecided_neighbors_race_together() -> None:
    pairs = [("hello", "a", "b"), ("hello", "b", "c"), ("json", "c", "d"), ("json", "d", "gone")]
    assert open_parts(pairs, RACERS, 9) == [
        PlannedPart(("a", "b", "c"), ("hello",)),
        PlannedPart(("c", "d"), ("json",)),
    ]
