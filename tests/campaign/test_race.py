"""Whole campaigns in a world without processes and without a sleep."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from deadheat.campaign import trials
from deadheat.campaign.past import Past
from deadheat.campaign.run import RaceContext
from deadheat.campaign.standings import Standings
from deadheat.host import Sample
from deadheat.measure.gates.pooled import spins
from deadheat.protocol import protocol_of
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import alone, fixed, sliced

Order = list[tuple[str, int]]


def test_every_block_is_complete(fake: FakeWorld) -> None:
    run_id = fake.conduct(fixed())
    trials = fake.trials()
    assert {trial["run_id"] for trial in trials} == {run_id}
    assert [trial["block"] for trial in trials] == [1] * 6 + [2] * 6 + [3] * 6
    every = set(itertools.product(("fast", "middle", "slow"), (10, 100)))
    for block in batches(fake.order(), 6):
        assert set(block) == every
    assert {trial["state"] for trial in trials} == {"ok"}
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]


def batches(things: Order, size: int) -> list[Order]:
    return [things[at : at + size] for at in range(0, len(things), size)]


def test_the_order_is_random_and_the_seed_makes_it_again(tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        fake = FakeWorld(folder, fast=3000, middle=2000, slow=1000)
        fake.conduct(fixed(), seed)
        orders.append([name for name, _ in fake.slices])
        assert fake.rows("SELECT seed FROM run") == [{"seed": seed}]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert len({tuple(orders[0][at : at + 3]) for at in range(0, 18, 3)}) > 1  # anew in each round


def test_one_server_runs_at_a_time(fake: FakeWorld) -> None:
    fake.conduct(fixed(controls=True, connections=[10]))
    assert fake.running == [[name] for name, _ in fake.slices]
    assert len(fake.slices) == 3 * 5


def test_client_and_server_are_kept_apart(fake: FakeWorld) -> None:
    fake.conduct(fixed())
    starts = [spec for call, spec in fake.host.calls if call == "start"]
    assert {spec.cpus for spec in starts} == {(0,)}
    loads = [spec for call, spec in fake.host.calls if call == "converse"]
    assert {spec.cpus for spec in loads if "--slices" in spec.command} == {(1,)}


def test_nothing_is_left_running(fake: FakeWorld) -> None:
    fake.conduct(fixed())
    assert fake.left_running() == []
    ended = fake.rows("SELECT ended FROM instance")
    assert [json.loads(row["ended"]) for row in ended] == [{"how": "exit 0"}] * 3


def test_the_card_is_asked_for_once_and_kept(fake: FakeWorld) -> None:
    fake.conduct(fixed(stopping={"kind": "fixed", "repetitions": 2, "invocations": 2}))
    behaviors = [
        row["behavior"] for row in fake.rows("SELECT behavior FROM instance ORDER BY invocation")
    ]
    assert [json.loads(behavior)["status"] for behavior in behaviors[:3]] == [200] * 3
    assert behaviors[3:] == [None] * 3


def test_one_server_alone_is_not_settled_without_a_valid_trial() -> None:
    """Regression: a server that answered nothing rightly was "settled"."""
    run = SimpleNamespace(protocol=sliced(), past=Past(), levels_of=lambda _: sliced().levels)
    run.named = lambda role: ["alone"] if role == "contender" else []
    assert not Standings(cast(RaceContext, run)).last_look().settled


def test_controls_run_in_every_block_and_do_not_compete(fake: FakeWorld) -> None:
    fake.conduct(fixed(controls=True, connections=[10]))
    roles = {row["name"]: row["role"] for row in fake.rows("SELECT name, role FROM contender")}
    assert roles == {
        **dict.fromkeys(("fast", "middle", "slow"), "contender"),
        **dict.fromkeys(("null-server", "reference"), "control"),
    }
    for block in batches(fake.order(), 5):
        assert {name for name, _ in block} == set(roles)


def test_a_clock_that_drops_fails_a_gate_and_each_server_has_its_own(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By 3 % a repetition, compared with the highest; the clock of the slow server is lower."""
    sample = fake.host.sample

    def busy(at_s: float, processes: Sequence[str]) -> Sample:
        loaded = fake.loads[-1][0] if fake.loads else ""
        block = (len(fake.loads) - 1) % 3
        khz = (2000 if loaded == "slow" else 3000) * (100 - 3 * block) // 100
        ticks = {0: (int(at_s * 100), *(0,) * 7)}
        return replace(sample(at_s, processes), cpu_ticks=ticks, cpu_khz={0: khz})

    monkeypatch.setattr(fake.host, "sample", busy)
    stopping = {"kind": "fixed", "repetitions": 3}
    fake.conduct(alone(connections=[10], stopping=stopping))
    read = fake.rows(
        "SELECT block, name, passed FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = contender_id WHERE code = 'frequency'"
    )
    passed = {(row["block"], row["name"]): row["passed"] for row in read}
    names = ("fast", "middle", "slow")
    assert passed == {(2, name): 1 for name in names} | {(3, name): 0 for name in names}


def test_latency_is_measured_apart_below_saturation(fake: FakeWorld) -> None:
    fake.conduct(fixed(connections=[10]), latency_s=2.0)
    latency = [trial for trial in fake.trials() if trial["kind"] == "latency"]
    shares = sorted(
        (trial["name"], round(trial["offered_rate_per_s"] / fake.rates[trial["name"]], 1))
        for trial in latency
    )
    assert shares == [
        (name, share) for name in ("fast", "middle", "slow") for share in (0.5, 0.7, 0.9)
    ]
    assert {trial["state"] for trial in latency} == {"ok"}
    assert fake.left_running() == []


def test_without_a_valid_rate_latency_is_not_passed_over_silently(fake: FakeWorld) -> None:
    fake.served = lambda name, _: 9 if name == "fast" else None
    fake.conduct(fixed(connections=[10]), latency_s=2.0)
    measured = {trial["name"] for trial in fake.trials() if trial["kind"] == "latency"}
    assert measured == {"middle", "slow"}
    remark = "fast: no latency, because none of 5 more trials gave a valid rate to take shares of"
    assert fake.troubles().count(remark) == 1


def test_warming_goes_on_until_the_rate_is_steady(fake: FakeWorld) -> None:
    warmup = {"kind": "steady", "least_s": 1.0, "limit_s": 5.0}
    fake.conduct(fixed(warmup=warmup, connections=[10]))
    steady = [json.loads(row["steady"]) for row in fake.rows("SELECT steady FROM instance")]
    assert {reading["kind"] for reading in steady} == {"flat"}
    assert all(reading["trouble"] is None for reading in steady)


def test_the_machine_and_the_command_are_kept(fake: FakeWorld) -> None:
    fake.conduct(fixed(awake=True))
    hosts = fake.rows("SELECT role, cpus FROM host ORDER BY role")
    assert hosts == [{"role": "load", "cpus": "[1]"}, {"role": "server", "cpus": "[0]"}]
    (run,) = fake.rows("SELECT command, protocol FROM run")
    assert json.loads(run["command"]) == ["deadheat", "run"]
    assert protocol_of(json.loads(run["protocol"])) == fixed(awake=True)
    (build, *_) = fake.rows("SELECT server, files, toolchains FROM build ORDER BY id")
    assert build["server"] == "fast"
    assert "main.c" in json.loads(build["files"])
    assert json.loads(build["toolchains"]) == {"maker": "1.0"}


@pytest.mark.parametrize(("seems_to_spin", "loads"), [(False, 1), (True, 3)])
def test_a_contender_that_seems_to_spin_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seems_to_spin: bool, loads: int
) -> None:
    """java-undertow compiled for the new load, seemed to spin, and was not ranked."""
    monkeypatch.setattr(trials, "CLIENT_SHARE_MAX", 0.2)
    monkeypatch.setattr(trials, "spins", lambda *_: seems_to_spin)
    fake = FakeWorld(tmp_path, fast=3000, middle=2990)
    fake.conduct(sliced())
    half = [trial for trial in fake.trials() if trial["kind"] == trials.HALF_LOAD]
    assert Counter(trial["name"] for trial in half) == {"fast": loads, "middle": loads}
    assert len({(trial["name"], trial["at_s"]) for trial in half}) == len(half)


def test_a_server_spins_that_uses_more_cpu_time_per_request_at_half_the_load() -> None:
    assert spins(10.0, 19.0)
    assert not spins(10.0, 15.5)
    assert not spins(None, 19.0)
    assert not spins(10.0, None)
