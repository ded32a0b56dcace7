"""Which instance of a contender runs in a block, and which may leave."""

import random
from collections import Counter
from types import SimpleNamespace
from typing import cast

from deadheat.campaign.heat import UP_MAX, Rotation
from deadheat.measure.warm_up import WarmInstance


def instance(number: int, name: str = "a", kind: str = "flat") -> WarmInstance:
    made = SimpleNamespace(name=name, instance_id=number, warmed=SimpleNamespace(kind=kind))
    return cast(WarmInstance, made)


def raced(rotation: Rotation, up: list[WarmInstance], blocks: int) -> list[int]:
    """The ids of the instances that ran."""
    ran = []
    for _ in range(blocks):
        picked = rotation.pick(up)
        rotation.note_block([picked], up)
        ran.append(picked.instance_id)
    return ran


def test_all_instances_take_turns() -> None:
    up = [instance(1), instance(2), instance(3)]
    ran = raced(Rotation(random.Random(1)), up, 30)
    assert set(Counter(ran).values()) == {10}
    assert all(set(ran[n : n + 3]) == {1, 2, 3} for n in range(0, 30, 3))


def test_turns_have_another_order_each_time() -> None:
    ran = raced(Rotation(random.Random(1)), [instance(n) for n in (1, 2, 3)], 30)
    assert len({tuple(ran[n : n + 3]) for n in range(0, 30, 3)}) > 2


def test_a_fresh_instance_runs_next_and_then_takes_turns() -> None:
    rotation = Rotation(random.Random(1))
    raced(rotation, [instance(1), instance(2)], 20)
    ran = raced(rotation, [instance(1), instance(2), instance(3)], 31)
    assert ran[0] == 3
    assert set(Counter(ran[1:]).values()) == {10}


def test_an_instance_that_never_became_steady_runs_only_alone() -> None:
    cold = instance(1, kind="none")
    rotation = Rotation(random.Random(1))
    assert raced(rotation, [cold], 2) == [1, 1]
    assert raced(rotation, [cold, instance(2)], 2) == [2, 2]


def test_spare_are_all_but_the_newest_of_each_contender() -> None:
    up = [instance(1), instance(2, kind="none"), instance(3), instance(4, "b")]
    rotation = Rotation(random.Random(1))
    assert [each.instance_id for each in rotation.spare(up)] == [2, 1]


def test_a_contender_keeps_a_steady_instance_if_it_has_one() -> None:
    rotation = Rotation(random.Random(1))
    up = [instance(1), instance(2), instance(3, kind="none"), instance(4, "b", kind="none")]
    assert [each.instance_id for each in rotation.spare(up)] == [3, 1]


def test_of_many_instances_the_one_with_the_most_turns_leaves_for_another() -> None:
    up = [instance(number) for number in range(1, UP_MAX + 1)]
    rotation = Rotation(random.Random(1))
    rotation.note_block([up[2]], up)
    assert [each.instance_id for each in rotation.leaving(up)] == [3]
    assert rotation.leaving(up[1:]) == []
