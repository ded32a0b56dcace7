"""Slices have random lengths, and are longer where connections get no answer."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, middle=2900, slow=1000)


def test_slices_are_longer_after_one_that_left_connections_without_an_answer(
    fake: FakeWorld,
) -> None:
    of_slow = itertools.count(1)
    two_blocks = 8
    fake.served = lambda name, _: 9 if name == "slow" and next(of_slow) <= two_blocks else None
    fake.conduct(sliced(controls=False))
    longest_s = {
        name: max(request["duration_s"] for other, request in measured(fake) if other == name)
        for name in ("fast", "slow")
    }
    assert 0.4 < longest_s["slow"] <= 0.4 * 1.6
    assert 0.1 < longest_s["fast"] <= 0.1 * 1.6


def test_windows_have_random_lengths_around_that_of_the_protocol(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    lengths_s = [request["duration_s"] for name, request in measured(fake) if name == "fast"]
    assert len(set(lengths_s)) > len(lengths_s) / 2
    assert 0.04 <= min(lengths_s) < 0.06 < 0.14 < max(lengths_s) <= 0.16
    assert sum(lengths_s) / len(lengths_s) == pytest.approx(0.1, rel=0.2)


def test_a_slow_server_has_windows_of_some_cycles_and_a_cycle_is_discarded(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=40)
    fake.conduct(sliced(controls=False, warmup={"kind": "fixed", "duration_s": 1.0}))
    of_slow = [request for name, request in measured(fake) if name == "slow"]
    mean_s = sum(request["duration_s"] for request in of_slow) / len(of_slow)
    assert mean_s == pytest.approx(3 * 10 / 40, rel=0.2)
    assert all(request["discard_s"] == pytest.approx(10 / 40, rel=0.1) for request in of_slow)


def measured(fake: FakeWorld) -> list[tuple[str, dict[str, Any]]]:
    """The requests for slices that are not of a warm-up or its end."""
    warm_up_s = {0.2, 0.4, 0.6, 1.0, 0.01}
    return [(name, r) for name, r in fake.slices if r["duration_s"] not in warm_up_s]


def test_slices_of_a_server_that_never_answers_some_connections_stay_bounded(
    fake: FakeWorld,
) -> None:
    fake.served = lambda name, _: 9 if name == "slow" else None
    fake.conduct(sliced(controls=False))
    assert max(request["duration_s"] for _, request in fake.slices) <= 0.4 * 1.6
    assert any("slow is out" in trouble for trouble in fake.troubles())
