"""Slices with a fixed number of repetitions: no budget, and all contenders race to the end."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.progress_view import status
from deadheat.events import Board, Progress
from deadheat.protocol import SliceProtocol
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


def repeated(repetitions: int, invocations: int, **values: Any) -> SliceProtocol:
    stopping = {"kind": "fixed", "repetitions": repetitions, "invocations": invocations}
    return sliced(stopping=stopping, **values)


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, middle=2990, slow=1000)


def blocks_of(fake: FakeWorld) -> Counter[str]:
    """How many blocks each contender ran."""
    blocks = {(trial["name"], trial["block"]) for trial in fake.trials()}
    names = [name for name, _ in blocks if name not in ("null-server", "reference")]
    return Counter(names)


def instances_of(fake: FakeWorld) -> dict[str, int]:
    trials = {(trial["name"], trial["instance_id"]) for trial in fake.trials()}
    return Counter(name for name, _ in trials)


def test_every_contender_has_the_same_blocks_and_instances(fake: FakeWorld) -> None:
    """Also `slow`, whose place is clear after the first blocks."""
    fake.conduct(repeated(6, 3))
    assert blocks_of(fake) == {"fast": 6, "middle": 6, "slow": 6}
    assert instances_of(fake) == {
        "fast": 3,
        "middle": 3,
        "slow": 3,
        "null-server": 1,
        "reference": 1,
    }
    (run,) = fake.rows("SELECT conclusion FROM run")
    assert '"why": "all repetitions done"' in run["conclusion"]


def test_one_instance_is_enough_if_it_is_asked_for(fake: FakeWorld) -> None:
    fake.conduct(repeated(2, 1))
    assert set(instances_of(fake).values()) == {1}


def test_a_large_field_has_its_repetitions_in_groups(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, **{f"s{n}": 1000.0 + n for n in range(7)})
    fake.conduct(repeated(3, 2, slices={"rounds": 4, "group": 3}))
    assert blocks_of(fake) == {f"s{n}": 3 for n in range(7)}


def test_several_levels_share_a_block(fake: FakeWorld) -> None:
    fake.conduct(repeated(2, 1, connections=[1, 10]))
    assert blocks_of(fake) == {"fast": 2, "middle": 2, "slow": 2}


def test_a_resumed_run_has_as_many_repetitions_as_a_whole_one(fake: FakeWorld) -> None:
    def interrupt(*_: object) -> None:
        if len(fake.slices) == 30:
            raise KeyboardInterrupt

    fake.before_slice = interrupt
    run_id = fake.conduct(repeated(4, 2))
    before = blocks_of(fake)
    assert 0 < max(before.values()) < 4
    fake.before_slice = lambda *_: None
    fake.resume(run_id)
    assert blocks_of(fake) == {"fast": 4, "middle": 4, "slow": 4}


def test_progress_counts_blocks_to_a_known_end(fake: FakeWorld) -> None:
    fake.conduct(repeated(3, 2))
    steps = [e for e in fake.events if isinstance(e, Progress) and e.what.startswith("block")]
    assert {step.of for step in steps} == {9}
    assert [step.done for step in steps] == [0, 3, 6]


def test_the_live_table_states_no_budget(fake: FakeWorld) -> None:
    fake.conduct(repeated(2, 2))
    boards = [each for each in fake.events if isinstance(each, Board)]
    assert all(math.isinf(board.budget_s) for board in boards)
    assert "at most" not in status(boards[-1])
