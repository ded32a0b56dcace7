"""Races at common offered rates, in a world without processes and without a sleep."""

from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.block import OPENING_S
from deadheat.campaign.past import COMMON_RATE
from deadheat.campaign.resolve import within_budget
from deadheat.errors import DeadheatError
from deadheat.protocol import RateProtocol
from tests.campaign.fake_world import FakeWorld


def at_rates(*rates: float | str, **values: Any) -> RateProtocol:
    """Two fresh starts of each contender within a minute."""
    return RateProtocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "kind": "rate",
            "rates": rates,
            "connections": [10],
            "duration_s": 0.5,
            "slices": {"rounds": 4},
            "warmup": {"kind": "fixed", "duration_s": 1.0},
            "stopping": {"kind": "settle", "invocations": 2, "budget_s": 60},
            **values,
        }
    )


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, slow=900)


def test_all_are_loaded_at_each_rate_in_every_block(fake: FakeWorld) -> None:
    fake.conduct(at_rates(500.0, 2000.0))
    trials = fake.trials()
    assert {trial["kind"] for trial in trials} == {COMMON_RATE}
    assert {trial["name"] for trial in trials} == {"fast", "slow"}
    assert {trial["invocation"] for trial in trials} == {1, 2}
    for block in {trial["block"] for trial in trials if trial["block"] < trials[-1]["block"]}:
        loads = sorted((t["name"], t["offered_rate_per_s"]) for t in trials if t["block"] == block)
        assert loads == [("fast", 500), ("fast", 2000), ("slow", 500), ("slow", 2000)]
    assert 50 < fake.host.now_s() < 70
    assert not fake.left_running()


def test_warms_up_at_full_load(fake: FakeWorld) -> None:
    """At the offered rate, a JIT would be measured cold."""
    fake.conduct(at_rates(500.0))
    stored = fake.rows("SELECT steady FROM instance")
    assert stored
    loaders = [spec.command for kind, spec in fake.host.calls if kind == "converse"]
    assert sum("--rate" not in command for command in loaders) == len(stored)
    assert sum("--rate" in command for command in loaders) == len(stored)


def test_a_server_that_falls_behind_fails_the_gate_achieved(fake: FakeWorld) -> None:
    fake.conduct(at_rates(2000.0))
    assert fake.failing("achieved") == {"slow"}


def test_a_share_is_one_of_the_slowest_maximum_and_stays_when_resumed(fake: FakeWorld) -> None:
    fake.noise = 0.0
    with fake.interrupted(lambda *_: len(fake.slices) == 60):
        run_id = fake.conduct(at_rates("10%"))
    assert {trial["offered_rate_per_s"] for trial in fake.trials()} == {90.0}
    before = len(fake.trials())
    fake.rates["slow"] = 500
    fake.resume(run_id)
    assert len(fake.trials()) > before
    assert {trial["offered_rate_per_s"] for trial in fake.trials()} == {90.0}
    assert fake.host.now_s() < 75


def test_a_resumed_run_past_its_budget_loads_those_without_a_trial(fake: FakeWorld) -> None:
    with fake.interrupted(lambda _, request: request["duration_s"] < 0.5):  # no warm-up
        run_id = fake.conduct(at_rates(500.0))
    assert fake.trials() == []
    fake.before_slice = lambda *_: fake.host.sleep(100.0)
    fake.resume(run_id)
    assert {trial["name"] for trial in fake.trials()} == {"fast", "slow"}


def test_bug_a_run_that_was_interrupted_in_its_last_start_measured_nothing_more(
    fake: FakeWorld,
) -> None:
    with fake.interrupted(lambda *_: fake.host.now_s() > 45):
        run_id = fake.conduct(at_rates(500.0))
    assert {trial["invocation"] for trial in fake.trials()} == {1, 2}
    fake.resume(run_id)
    assert {trial["invocation"] for trial in fake.trials()} == {1, 2, 3}


def test_bug_drops_while_connections_were_opened_were_those_of_the_next_slice(
    fake: FakeWorld,
) -> None:
    def drop(_: str, request: dict[str, Any]) -> None:
        if request["duration_s"] == OPENING_S:
            fake.host.drops = (fake.host.drops or 0) + 5

    fake.before_slice = drop
    fake.conduct(at_rates(100.0, 500.0))
    assert fake.host.drops
    assert not fake.failing("listen_drops")


def test_bug_a_protocol_with_shares_and_a_shortest_slice_divided_by_zero() -> None:
    protocol = at_rates("10%", "20%", slices={"rounds": 4, "shortest_s": 0.1})
    assert within_budget(protocol, 20).duration_s == 0.1


def test_cannot_be_extended(fake: FakeWorld) -> None:
    run_id = fake.conduct(at_rates(500.0))
    with pytest.raises(DeadheatError, match="one look, at its end"):
        fake.resume(run_id, lambda left: left.extended(60.0, {}))


@pytest.mark.parametrize("rates", [(), (0.0,), ("0%",), ("100%",), ("10",)])
def test_rejects_rates_that_cannot_be_offered(rates: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="rates"):
        at_rates(*rates)
