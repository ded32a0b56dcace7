"""Slices are longer for a contender that leaves connections without an answer."""

from pathlib import Path

import pytest

from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, middle=2900, slow=1000)


def test_slices_are_longer_after_one_that_left_connections_without_an_answer(
    fake: FakeWorld,
) -> None:
    fake.served = lambda name, duration_s: 9 if name == "slow" and duration_s < 0.3 else None
    fake.conduct(sliced(controls=False))
    asked = [(name, request["duration_s"]) for name, request in fake.slices]
    assert [*dict.fromkeys(length for name, length in asked if name == "slow")] == [0.1, 0.2, 0.4]
    assert {length for name, length in asked if name != "slow"} == {0.1}


def test_slices_of_a_server_that_never_answers_some_connections_stay_bounded(
    fake: FakeWorld,
) -> None:
    fake.served = lambda name, _: 9 if name == "slow" else None
    fake.conduct(sliced(controls=False))
    assert max(request["duration_s"] for _, request in fake.slices) == 0.4
    assert any("slow is out" in trouble for trouble in fake.troubles())
