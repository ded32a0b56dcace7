"""Blocks of slices, in a world without processes and without a sleep."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.campaign.block import neighbors_together
from deadheat.host import Sample
from deadheat.measure.load_process import HANG_UP_S
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


def test_each_round_has_one_slice_of_each_contender(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    rounds: dict[int, list[str]] = {}
    for name, _, row in fake.slice_rows():
        rounds.setdefault(row["round"], []).append(name)
    assert all(len(names) == len(set(names)) for names in rounds.values())
    assert set(rounds[1]) == {"fast", "middle", "slow"}


def test_controls_run_in_every_fourth_round(fake: FakeWorld) -> None:
    fake.conduct(sliced(slices={"rounds": 8}))
    rounds = {row["round"] for name, _, row in fake.slice_rows() if name == "reference"}
    assert {(number - 1) % 8 for number in rounds} == {0, 4}


def test_neighbors_in_rate_stay_next_to_each_other() -> None:
    class First:
        def randrange(self, count: int) -> int:
            return 2

        def random(self) -> float:
            return 0.9

    assert neighbors_together(list("abcd"), First()) == list("cdab")  # type: ignore[arg-type,comparison-overlap]


def test_a_trial_is_the_sum_of_its_slices(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    trial = fake.trials()[0]
    slices = [
        row
        for name, block, row in fake.slice_rows()
        if (name, block) == (trial["name"], trial["block"])
    ]
    assert len(slices) == 4
    assert trial["requests_ok"] == sum(row["requests_ok"] for row in slices)
    assert trial["elapsed_s"] == pytest.approx(sum(row["elapsed_s"] for row in slices))
    assert json.loads(trial["result"])["window_s"] == pytest.approx(
        sum(row["window_s"] for row in slices)
    )
    assert trial["rate_per_s"] == pytest.approx(trial["requests_ok"] / trial["elapsed_s"])
    assert trial["rate_per_s"] == pytest.approx(fake.rates[trial["name"]], rel=0.2)


def test_download_of_another_program_fails_no_contender(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: retransmissions of the whole network namespace failed every trial of a block."""
    sample = fake.host.sample

    def with_download(at_s: float, processes: Sequence[str]) -> Sample:
        before = sample(at_s, processes)
        return replace(before, network={**before.network, "RetransSegs": int(1e6 * at_s)})

    monkeypatch.setattr(fake.host, "sample", with_download)
    fake.conduct(sliced(controls=False))
    assert {trial["state"] for trial in fake.trials()} == {"ok"}
    gates = fake.rows("SELECT passed, reading FROM gate WHERE code = 'retransmits'")
    assert len(gates) == len(fake.trials())
    assert {(gate["passed"], gate["reading"]) for gate in gates} == {(1, 0)}
    stored = json.loads(fake.trials()[0]["result"])
    assert stored["block_network"]["RetransSegs"] > 0, "kept as a reading"


def test_lost_segments_fail_only_the_contender_that_lost_them(fake: FakeWorld) -> None:
    fake.retransmits["middle"] = 3
    fake.conduct(sliced(controls=False))
    assert fake.failing("retransmits") == {"middle"}


def test_connections_are_renewed_once_per_block(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    renewed = Counter(name for name, request in fake.slices if request["renew"])
    blocks = Counter(name for name, _, row in fake.slice_rows() if row["round"] % 4 == 1)
    assert renewed == blocks - fake.starts(), "not those of a fresh instance"
    assert {request["discard_s"] for _, request in fake.slices if request["renew"]} == {0.1}


@pytest.mark.parametrize(("awake", "discard_s"), [(True, 0.01), (False, 0.07)])
def test_more_of_a_slice_is_discarded_where_idle_cpus_sleep(
    tmp_path: Path, awake: bool, discard_s: float
) -> None:
    """Their servers are slow for longer after a thaw."""
    fake = FakeWorld(tmp_path, a=2000.0, b=1000.0)
    fake.conduct(sliced(awake=awake))
    discarded = {request["discard_s"] for _, request in fake.slices if not request["renew"]}
    assert discarded == {discard_s}


def test_several_levels_have_a_load_process_each(fake: FakeWorld) -> None:
    fake.conduct(sliced(connections=[1, 10], controls=False))
    assert {trial["connections"] for trial in fake.trials()} == {1, 10}
    opened = [spec for call, spec in fake.host.calls if call == "converse"]
    loads = [spec.command for spec in opened if "-c" in spec.command]
    assert {command[command.index("-c") + 1] for command in loads} == {"1", "10"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bug_idle_connections_of_another_level_blocked_a_server(fake: FakeWorld) -> None:
    """One level after the other in a block, and each hangs up after its last slice."""
    fake.conduct(sliced(connections=[10, 20], controls=False))
    of_fast = [request for name, request in fake.slices if name == "fast"]
    opened = [request["hang_up"] for request in of_fast if request["duration_s"] == HANG_UP_S]
    assert opened == [True] * len(opened) != [], "after each start"
    warm_up_s = {HANG_UP_S, 0.2, 0.4, 0.6}
    measured = [r["hang_up"] for r in of_fast if r["duration_s"] not in warm_up_s]
    blocks = len(measured) // 8
    assert measured[: 8 * blocks] == [False, False, False, True] * 2 * blocks


def test_rejects_slices_that_cannot_work() -> None:
    with pytest.raises(ValueError, match=r"at most slices\.rounds"):
        sliced(slices={"rounds": 2, "control_every": 4})
