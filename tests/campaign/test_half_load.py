"""The load at half of a contender's rate, which shows whether a server spins."""

from collections import Counter
from pathlib import Path

import pytest

from deadheat.campaign import trials
from deadheat.measure.gates.pooled import spins
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced


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
