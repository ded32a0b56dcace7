"""The instances of a race in slices: how many, when they start, and whose turn it is."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.errors import Unmeasurable
from deadheat.measure import starter
from deadheat.measure.contender import CONTROL_WORKS
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import SETTLE, sliced


@pytest.mark.parametrize(("budget_s", "instances"), [(18, 2), (30, 3), (150, 4)])
def test_a_decided_contender_has_as_many_instances_as_the_budget_allows(
    fake: FakeWorld, budget_s: int, instances: int
) -> None:
    """`slow` is decided with two, but then the interval of its share was 0.8 to 4.0 %."""
    fake.start_slowly(2.0)
    stopping = {"kind": "settle", "invocations": 4, "budget_s": budget_s}
    fake.conduct(sliced(stopping=stopping))
    assert fake.starts()["slow"] == instances


def test_instances_of_a_contender_take_turns(fake: FakeWorld) -> None:
    """An instance that ran in one stretch alone had the machine's speed of that time."""
    fake.noise = 0.4
    fake.conduct(sliced())
    rows = fake.rows(
        "SELECT trial.block, trial.invocation FROM trial JOIN contender"
        " ON contender.id = trial.contender_id WHERE contender.name = 'fast' ORDER BY trial.block"
    )
    ran = [row["invocation"] for row in rows]
    first, last = ran.index(1), len(ran) - 1 - ran[::-1].index(1)
    assert len(set(ran[first:last])) > 1


def test_bug_the_last_contender_was_always_frozen_for_the_shortest_time(fake: FakeWorld) -> None:
    """Starts had the order of the command line, and the later of two copies seemed faster."""
    fake.noise = 0.2
    fake.conduct(sliced(slices={"starts_share": 0.5}))
    names = fake.started()
    contenders = [name for name in names if name in ("fast", "middle", "slow")]
    orders = {tuple(contenders[n : n + 3]) for n in range(0, 9, 3)}
    assert names[0] not in contenders, "controls start first"
    assert len(orders) > 1


def test_warm_up_renews_connections_each_half_second(fake: FakeWorld) -> None:
    """Regression: the first renewal of java-undertow was in a block, and it compiled anew there."""
    fake.noise = 0.3  # so that no instance ever becomes steady
    with pytest.raises(Unmeasurable):
        fake.conduct(sliced(controls=False, warmup={"kind": "steady", "limit_s": 3}))
    warm_up = [
        request
        for name, request in fake.slices
        if name == "fast" and request["duration_s"] in (0.6, 0.2)
    ]
    assert [request["renew"] for request in warm_up[:8]] == [
        *(False, True, False, False),
        *(True, False, False, True),
    ]


def test_the_budget_ends_first_starts_too(tmp_path: Path) -> None:
    """Regression: starts were not bounded, so a race of slow starters took many budgets."""
    fake = FakeWorld(tmp_path, **{f"s{n}": 1000.0 for n in range(8)})
    fake.start_slowly(8.0)
    begun_s = fake.host.now_s()
    fake.conduct(sliced(controls=False, stopping={**SETTLE, "budget_s": 20}))
    assert fake.host.now_s() - begun_s <= 24, "not the 64 s of all starts"
    (event,) = [e for e in fake.troubles() if e.startswith("the budget of 20 s was spent before")]
    named = set(event.partition(": ")[2].split(", "))
    assert named < set(fake.servers)
    assert len(named) >= 5
    assert fake.left_running() == []


def test_a_server_that_never_answers_leaves_time_for_the_others(fake: FakeWorld) -> None:
    """With a budget below its 30 s, no server was measured, and the reason was "budget spent"."""
    name = next(iter(fake.servers))
    fake.servers[name] = replace(fake.servers[name], ready_after_s=1000.0)
    fake.conduct(sliced(controls=False, stopping={**SETTLE, "budget_s": 8}))
    assert {trial["name"] for trial in fake.trials()} == {*fake.servers} - {name, *CONTROL_WORKS}
    (fault,) = [event for event in fake.troubles() if event.startswith(f"{name} was not ready")]
    assert "it never answered" in fault


def test_bug_a_server_that_never_answers_cost_the_others_half_of_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes its own share. Of 60 s it took 30 s, and two of them 45 s."""
    monkeypatch.setattr(starter, "USUAL_START_S", 1.0)
    fake = FakeWorld(tmp_path, **{f"s{n}": 1000.0 for n in range(6)})
    silent = ("s1", "s4")
    for name in silent:
        fake.servers[name] = replace(fake.servers[name], ready_after_s=1000.0)
    fake.conduct(sliced(controls=False, stopping={**SETTLE, "budget_s": 18}))
    waits_s = [
        float(match[1])
        for event in fake.troubles()
        if (match := re.search(r"was not ready within (\S+) s: it never answered", event))
    ]
    assert len(waits_s) == len(silent)
    assert max(waits_s) <= 18 / 6
    assert {trial["name"] for trial in fake.trials()} == {*fake.servers} - {*silent, *CONTROL_WORKS}
