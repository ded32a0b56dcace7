"""Slices have random lengths, which the budget bounds; they are longer where none is answered."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.resolve import slice_s, within_budget
from deadheat.protocol import SliceProtocol, amend, load_as
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


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


def test_bug_a_connection_for_each_request_had_slices_as_if_it_had_streams(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=400)
    fake.over_h2c()
    request = {"path": "/", "expect": {"body": "Hello, World!"}}
    kept = {"name": "hello", "about": "kept", "requests": [request]}
    closed = {"name": "connect", "about": "closed", "requests": [request], "close": True}
    load = {"transports": ["h2c"], "streams": 10, "workloads": [kept, closed]}
    warmup = {"kind": "fixed", "duration_s": 1.0}
    fake.conduct(sliced(controls=False, warmup=warmup, **load))
    discards_s = [request["discard_s"] for name, request in measured(fake) if name == "slow"]
    assert max(discards_s) == pytest.approx(100 / 400, rel=0.1)
    assert min(discards_s) < 0.1


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


HERE = Path(__file__).resolve().parents[2]


def settle(budget_s: float, **changes: object) -> SliceProtocol:
    return amend(load_as(HERE, "settle", SliceProtocol), changes, {"budget_s": budget_s})


def test_a_long_budget_has_the_slices_of_the_protocol() -> None:
    assert within_budget(settle(240), 8) == settle(240)


def test_a_short_budget_has_shorter_slices_so_that_each_contender_gets_its_instances() -> None:
    protocol = settle(84)
    shorter = within_budget(protocol, 10)
    assert shorter.duration_s < protocol.duration_s
    slices = protocol.stopping.invocations * protocol.slices.rounds
    assert 10 * slices * slice_s(shorter) == pytest.approx(84 / 3, rel=0.05)


def test_slices_are_never_shorter_than_the_protocol_allows() -> None:
    assert within_budget(settle(60), 24).duration_s == 0.06


def test_several_levels_share_the_budget() -> None:
    several = within_budget(settle(240, connections=(10, 100)), 8)
    assert several.duration_s == within_budget(settle(120), 8).duration_s


def test_a_duration_of_the_users_own_stays() -> None:
    assert within_budget(settle(60, duration_s=0.05), 24).duration_s == 0.05
    assert within_budget(amend(settle(60), {}, {}, scale=0.5), 24).duration_s == 0.04
