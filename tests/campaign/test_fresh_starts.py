"""Which contenders get a fresh instance, and when."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from deadheat.campaign.fresh_starts import UNSTEADY_MAX, FreshStarts
from deadheat.campaign.run import RaceContext
from deadheat.campaign.standings import Standings
from deadheat.measure.warm_up import WarmInstance
from tests.campaign.made_protocols import sliced

BUDGET_S = 100.0


@dataclass
class FakeStandings:
    """Every contender has slices of 5 % noise, and instances that differ by 1.5 %."""

    counts: Mapping[str, int]
    instance_sd: Mapping[str, float] = field(default_factory=dict)
    wanted: int = 4

    @property
    def instances_wanted(self) -> Mapping[str, int]:
        return dict.fromkeys(self.counts, self.wanted)

    @property
    def names(self) -> list[str]:
        return list(self.counts)

    def instances(self, name: str) -> int:
        return self.counts[name]

    def fit(self, _: object) -> tuple[Any, list[str]]:
        names = list(self.counts)
        spread = np.array([self.instance_sd.get(name, 0.015) for name in names])
        counts = np.array([self.counts[name] for name in names])
        robust = SimpleNamespace(
            instance_variance=spread**2,
            slice_variance=np.full(len(names), 0.05**2),
            contender_degrees=np.maximum(2.0 * (counts - 1), 1.0),
        )
        return SimpleNamespace(estimate=robust, instances=counts, slices=20 * counts), names


def instance(name: str, took_s: float, number: int, kind: str = "flat") -> WarmInstance:
    """The second instance of a contender, or a later one: it takes what the last one took."""
    made = SimpleNamespace(
        name=name,
        took_s=took_s,
        instance_id=number,
        invocation=2,
        warmed=SimpleNamespace(kind=kind),
        entered=SimpleNamespace(contender=SimpleNamespace(role="contender")),
    )
    return cast(WarmInstance, made)


def fresh_starts(standings: FakeStandings, now_s: float = 10) -> FreshStarts:
    protocol = sliced(
        slices={"rounds": 10, "starts_share": 0.1},
        stopping={"kind": "settle", "budget_s": BUDGET_S, "invocations": 4},
    )
    run = SimpleNamespace(protocol=protocol, ends_s=BUDGET_S, now_s=lambda: now_s)
    return FreshStarts(cast(RaceContext, run), cast(Standings, standings))


def due(
    standings: FakeStandings,
    instances: list[WarmInstance],
    *,
    now_s: float = 50,
    loaded_s: float = 100,
) -> list[str]:
    """The contenders that get a fresh instance after one block of all."""
    fresh = fresh_starts(standings, now_s)
    fresh.note_block(instances, loaded_s)
    names = [each.name for each in instances]
    return fresh.due(instances, names)


def test_those_with_the_fewest_instances_come_first_whatever_their_starts_take() -> None:
    standings = FakeStandings({"few": 2, "java": 1, "go": 1})
    running = [instance("few", 1, 1), instance("java", 30, 2), instance("go", 1, 3)]
    assert due(standings, running, loaded_s=0.1) == ["go", "java", "few"]


def test_few_instances_are_replaced_after_a_block_whatever_a_start_takes() -> None:
    standings = FakeStandings({"few": 3, "many": 8}, {"many": 0.1})
    running = [instance("few", 30, 1), instance("many", 1, 2)]
    usual_s = 1 / 0.1 - 1
    assert due(standings, running, loaded_s=1) == ["few"]
    assert set(due(standings, running, loaded_s=usual_s + 0.01)) == {"few", "many"}


def test_few_is_what_the_budget_allows() -> None:
    """A block of each takes 1.28 s, and the budget is 100 s. Cheap starts come first."""
    standings = FakeStandings({"java": 1, "go": 1})
    fresh = fresh_starts(standings)
    assert fresh.instances_affordable() == {"java": 4, "go": 4}
    for java_s, java, go in [(10, 4, 4), (25, 3, 4), (45, 2, 3), (200, 2, 2)]:
        fresh.note_block([instance("java", java_s, 1), instance("go", 1, 2)], 1.28)
        assert fresh.instances_affordable() == {"java": java, "go": go}


def test_contender_has_few_instances_below_what_the_budget_allows() -> None:
    running = [instance("two", 1, 1)]
    assert due(FakeStandings({"two": 2}, {"two": 0.1}, 2), running, loaded_s=1) == []
    assert due(FakeStandings({"two": 2}, {"two": 0.1}, 3), running, loaded_s=1) == ["two"]


def test_starts_that_never_became_steady_are_not_counted_for_what_the_budget_allows() -> None:
    fresh = fresh_starts(FakeStandings({"cold": 1, "go": 1}))
    fresh.note_block([instance("cold", 45, 1, kind="none"), instance("go", 1, 2)], 1.28)
    assert fresh.instances_affordable() == {"cold": 4, "go": 4}


def test_a_contender_with_cheap_starts_has_more_instances() -> None:
    standings = FakeStandings({"java": 4, "go": 4})
    running = [instance("java", 8, 1), instance("go", 1, 2)]
    assert due(standings, running, loaded_s=10) == ["go"]


def test_bug_an_instance_of_a_contender_that_is_out_ended_the_race() -> None:
    """A KeyError: the standings no longer know how many instances it is to have."""
    fresh = fresh_starts(FakeStandings({"a": 2}))
    running = [instance("gone", 1, 1), instance("a", 1, 2)]
    fresh.note_block(running, 100)
    assert fresh.due(running, ["a"]) == ["a"]


def test_the_time_of_an_instance_is_that_of_all_its_blocks() -> None:
    fresh = fresh_starts(FakeStandings({"a": 4}))
    running = [instance("a", 1, 1)]
    fresh.note_block(running, 5)
    assert fresh.due(running, ["a"]) == []
    fresh.note_block(running, 5)
    assert fresh.due(running, ["a"]) == ["a"]


def test_a_third_instance_is_worth_more_than_a_fourth() -> None:
    standings = FakeStandings({"three": 3, "two": 2})
    running = [instance("three", 1, 1), instance("two", 1, 2)]
    assert due(standings, running) == ["two", "three"]


def test_of_equals_the_cheaper_start_comes_first() -> None:
    standings = FakeStandings({"java": 2, "go": 2})
    running = [instance("java", 8, 1), instance("go", 1, 2)]
    assert due(standings, running) == ["go", "java"]


def test_bug_an_instance_that_was_not_steady_at_a_noisy_moment_ran_to_the_end() -> None:
    """A contender lost all of its 18 trials by one start."""
    standings = FakeStandings({"cold": 1, "go": 2})
    running = [instance("cold", 6, 1, kind="none"), instance("go", 1, 2)]
    assert due(standings, running, loaded_s=0.1) == ["cold", "go"]


def unsteady_starts(loaded_s: float) -> list[str]:
    """Who is due after as many starts in a row that were not steady as are repeated at once."""
    standings = FakeStandings({"cold": 1, "go": 2})
    fresh = fresh_starts(standings)
    for number in range(1, UNSTEADY_MAX + 1):
        running = [instance("cold", 6, number, kind="none"), instance("go", 1, 99)]
        fresh.note_block(running, loaded_s)
    return fresh.due(running, ["cold", "go"])


def test_a_contender_that_is_never_steady_comes_last_and_within_the_share() -> None:
    assert unsteady_starts(loaded_s=100) == ["go", "cold"]
    assert unsteady_starts(loaded_s=6) == ["go"]


def test_alike_instances_get_more_slices_instead_of_fresh_starts() -> None:
    standings = FakeStandings({"alike": 6, "unlike": 6}, {"alike": 0.0005, "unlike": 0.05})
    running = [instance("alike", 1, 1), instance("unlike", 1, 2)]
    assert due(standings, running) == ["unlike"]


def test_an_instance_that_has_run_no_block_stays() -> None:
    fresh = fresh_starts(FakeStandings({"a": 1, "b": 1}))
    running = [instance("a", 1, 1), instance("b", 1, 2)]
    fresh.note_block(running[:1], 1.0)
    assert fresh.due(running, ["a", "b"]) == ["a"]


@pytest.mark.parametrize(("left_s", "replaced"), [(5, ["go"]), (2, [])])
def test_a_fresh_instance_has_time_for_a_block(left_s: float, replaced: list[str]) -> None:
    """A block of one contender takes 1.28 s, and its start 1 s."""
    standings = FakeStandings({"go": 2})
    assert due(standings, [instance("go", 1, 1)], now_s=BUDGET_S - left_s) == replaced
