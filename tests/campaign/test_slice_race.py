"""Races in slices, in a world without processes and without a sleep."""

import itertools
import json
import math
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.slice_block import neighbors_together
from deadheat.campaign.slice_standings import SliceStandings
from deadheat.errors import Unmeasurable
from deadheat.events import Board, Event
from deadheat.host import Sample
from deadheat.stats.alpha_spending import Looks
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import SETTLE, sliced


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, middle=2900, slow=1000)


def rows_of_slices(fake: FakeWorld) -> list[tuple[str, int, dict[str, Any]]]:
    """Contender, block and row of every stored slice."""
    rows = fake.rows(
        "SELECT contender.name, trial.block, series.rows FROM series"
        " JOIN trial ON trial.id = series.trial_id"
        " JOIN contender ON contender.id = trial.contender_id"
        " WHERE series.name = 'slices' ORDER BY trial.id"
    )
    return [
        (row["name"], row["block"], part)
        for row in rows
        for part in json.loads(zlib.decompress(row["rows"]))
    ]


def test_each_round_has_one_slice_of_each_contender(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    rounds: dict[int, list[str]] = {}
    for name, _, row in rows_of_slices(fake):
        rounds.setdefault(row["round"], []).append(name)
    assert all(len(names) == len(set(names)) for names in rounds.values())
    assert set(rounds[1]) == {"fast", "middle", "slow"}


def test_controls_run_in_every_fourth_round(fake: FakeWorld) -> None:
    fake.conduct(sliced(slices={"rounds": 8}))
    rounds = {row["round"] for name, _, row in rows_of_slices(fake) if name == "reference"}
    assert {(number - 1) % 8 for number in rounds} == {0, 4}


def test_one_server_runs_at_a_time(fake: FakeWorld) -> None:
    fake.conduct(sliced())
    assert fake.running == [[name] for name, _ in fake.slices]


def test_a_trial_is_the_sum_of_its_slices(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    trial = fake.trials()[0]
    slices = [
        row
        for name, block, row in rows_of_slices(fake)
        if (name, block) == (trial["name"], trial["block"])
    ]
    assert len(slices) == 4
    assert trial["requests_ok"] == sum(row["requests_ok"] for row in slices)
    assert trial["elapsed_s"] == pytest.approx(0.4)
    assert trial["rate_per_s"] == pytest.approx(trial["requests_ok"] / trial["elapsed_s"])


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
    failed = fake.rows(
        "SELECT DISTINCT contender.name FROM gate"
        " JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id"
        " WHERE gate.code = 'retransmits' AND NOT gate.passed"
    )
    assert [row["name"] for row in failed] == ["middle"]


def test_connections_are_renewed_once_per_block(fake: FakeWorld) -> None:
    fake.conduct(sliced(controls=False))
    renewed = Counter(name for name, request in fake.slices if request["renew"])
    blocks = Counter(name for name, _, row in rows_of_slices(fake) if row["round"] % 4 == 1)
    assert renewed == blocks - starts_of(fake), "not those of a fresh instance"
    assert {request["discard_s"] for _, request in fake.slices if request["renew"]} == {0.09}


@pytest.mark.parametrize(("awake", "discard_s"), [(True, 0.02), (False, 0.07)])
def test_more_of_a_slice_is_discarded_where_idle_cpus_sleep(
    tmp_path: Path, awake: bool, discard_s: float
) -> None:
    """Their servers are slow for longer after a thaw."""
    fake = FakeWorld(tmp_path, a=2000.0, b=1000.0)
    fake.conduct(sliced(awake=awake))
    assert {request["discard_s"] for _, request in fake.slices if not request["renew"]} == {
        discard_s
    }


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


def test_a_slow_server_has_longer_slices(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=40)
    warmup = {"kind": "fixed", "duration_s": 1.0}
    fake.conduct(sliced(controls=False, warmup=warmup))
    durations = {name: request["duration_s"] for name, request in fake.slices}
    assert durations["fast"] == 0.1
    assert durations["slow"] == pytest.approx(3 * 10 / 40, rel=0.05)


def test_clear_differences_settle_before_the_budget(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    fake.conduct(sliced())
    conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
    assert conclusion["why"] == "settled"
    assert fake.host.now_s() < 45
    assert 0 < conclusion["race_s"] <= fake.host.now_s()


def test_a_change_is_judged_as_soon_as_a_slowdown_is_ruled_out(tmp_path: Path) -> None:
    """A head that is 2 % faster passes before it is known to be within 3 %, or to be faster."""
    stopping = {"kind": "settle", "invocations": 6, "budget_s": 300}
    ended_s = {}
    for question in ("order", "slower"):
        (tmp_path / question).mkdir()
        fake = FakeWorld(tmp_path / question, base=3000, head=3060)
        fake.noise = 0.05
        fake.conduct(sliced(stopping=stopping | {"question": question}))
        conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
        ended_s[question] = fake.host.now_s()
    assert conclusion["why"] == "verdict reached"
    assert ended_s["slower"] < ended_s["order"]


def test_a_settled_contender_stops_running(fake: FakeWorld) -> None:
    """`slow` is far behind; only the two close ones race on."""
    fake.noise = 0.2
    fake.conduct(sliced())
    last_block = max(block for _, block, _ in rows_of_slices(fake))
    last = {name for name, block, _ in rows_of_slices(fake) if block == last_block}
    assert last == {"fast", "middle", "null-server", "reference"}


def starts_of(fake: FakeWorld) -> Counter[str]:
    """How many instances each contender and control had."""
    return Counter(
        row["name"]
        for row in fake.rows(
            "SELECT contender.name FROM instance"
            " JOIN contender ON contender.id = instance.contender_id"
        )
    )


def start_slowly(fake: FakeWorld, ready_after_s: float = 2.0) -> None:
    for name, server in fake.servers.items():
        fake.servers[name] = replace(server, ready_after_s=ready_after_s)


@pytest.mark.parametrize(("budget_s", "instances"), [(18, 2), (30, 3), (150, 4)])
def test_a_decided_contender_has_as_many_instances_as_the_budget_allows(
    fake: FakeWorld, budget_s: int, instances: int
) -> None:
    """`slow` is decided with two, but then the interval of its share was 0.8 to 4.0 %."""
    start_slowly(fake)
    stopping = {"kind": "settle", "invocations": 4, "budget_s": budget_s}
    fake.conduct(sliced(stopping=stopping))
    assert starts_of(fake)["slow"] == instances


def test_the_last_look_is_at_everything_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contenders race on after the order is settled; these slices count in one more look."""
    monkeypatch.setattr(SliceStandings, "looks", Looks(count=4, ratio=2))
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    start_slowly(fake)
    fake.conduct(sliced(stopping=SETTLE | {"invocations": 4, "budget_s": 100}))
    conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
    assert (conclusion["why"], conclusion["look"]) == ("settled", 3)
    assert starts_of(fake)["slow"] == 4
    assert fake.host.now_s() < 25, "the next look was due then"


@pytest.mark.parametrize(("resolution", "goes_on"), [(0.9, False), (0.001, True)])
def test_a_settled_race_goes_on_until_it_could_detect_a_small_difference(
    fake: FakeWorld, resolution: float, goes_on: bool
) -> None:
    """The order of eight servers was settled early, with ratios such as +46 % [33, 61]."""
    fake.noise = 0.05
    fake.conduct(sliced(stopping=SETTLE | {"resolution": resolution}))
    conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
    assert conclusion["why"] == "settled"
    assert (conclusion["race_s"] > 50) == goes_on


def test_instances_of_a_contender_take_turns(fake: FakeWorld) -> None:
    """An instance that ran in one stretch alone had the machine's speed of that time."""
    fake.noise = 0.2
    fake.conduct(sliced())
    rows = fake.rows(
        "SELECT trial.block, trial.invocation FROM trial JOIN contender"
        " ON contender.id = trial.contender_id WHERE contender.name = 'fast' ORDER BY trial.block"
    )
    ran = [row["invocation"] for row in rows]
    first, last = ran.index(1), len(ran) - 1 - ran[::-1].index(1)
    assert len(set(ran[first:last])) > 1


def test_fresh_instances_start_while_the_race_goes_on(fake: FakeWorld) -> None:
    fake.noise = 0.2
    fake.conduct(sliced())
    starts = starts_of(fake)
    assert starts["fast"] >= 2
    assert starts["middle"] >= 2
    assert starts["reference"] == 1


def test_bug_the_last_contender_was_always_frozen_for_the_shortest_time(fake: FakeWorld) -> None:
    """Starts had the order of the command line, and the later of two copies seemed faster."""
    fake.noise = 0.2
    fake.conduct(sliced(slices={"starts_share": 0.5}))
    rows = fake.rows(
        "SELECT contender.name FROM instance JOIN contender"
        " ON contender.id = instance.contender_id ORDER BY instance.id"
    )
    names = [row["name"] for row in rows]
    contenders = [name for name in names if name in ("fast", "middle", "slow")]
    orders = {tuple(contenders[n : n + 3]) for n in range(0, 9, 3)}
    assert names[0] not in contenders, "controls start first"
    assert len(orders) > 1


def test_nothing_is_left_running(fake: FakeWorld) -> None:
    fake.conduct(sliced())
    assert fake.left_running() == []


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
    opened = [request["hang_up"] for request in of_fast if request["duration_s"] < 0.1]
    assert opened == [True] * len(opened) != [], "after each start"
    measured = [request["hang_up"] for request in of_fast if request["duration_s"] == 0.1]
    blocks = len(measured) // 8
    assert measured[: 8 * blocks] == [False, False, False, True] * 2 * blocks


def test_a_large_field_is_split_into_groups(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, **{f"s{n:02}": 1000.0 + n for n in range(9)})
    fake.conduct(sliced(controls=False, slices={"rounds": 4, "group": 4}))
    blocks: dict[int, set[str]] = {}
    for name, block, _ in rows_of_slices(fake):
        blocks.setdefault(block, set()).add(name)
    assert max(map(len, blocks.values())) <= 4
    assert set().union(*blocks.values()) == {f"s{n:02}" for n in range(9)}


def test_the_first_order_is_reported_after_half_a_minute(fake: FakeWorld) -> None:
    fake.noise = 0.2
    fake.conduct(sliced())
    texts = [event.what for event in fake.events if not isinstance(event, Board)]
    first = next(text for text in texts if text.startswith("after "))
    assert first.split(": ")[1].startswith(("fast ", "middle "))


def test_neighbors_in_rate_stay_next_to_each_other() -> None:
    class First:
        def randrange(self, count: int) -> int:
            return 2

        def random(self) -> float:
            return 0.9

    assert neighbors_together(list("abcd"), First()) == list("cdab")  # type: ignore[arg-type,comparison-overlap]


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ({"discard_s": 0.3}, "has to be more than slices.discard_s = 0.3"),
        ({"rounds": 2, "control_every": 4}, "at most slices.rounds"),
        ({"length_s": 1}, "length_s"),
    ],
)
def test_rejects_slices_that_cannot_work(slices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sliced(slices=slices)


def test_rejects_slices_of_another_generator() -> None:
    with pytest.raises(ValueError, match="slices need residency"):
        sliced(generator="wrk")


def test_rates_are_plausible(fake: FakeWorld) -> None:
    fake.conduct(sliced())
    rates = {trial["name"]: trial["rate_per_s"] for trial in fake.trials()}
    assert math.isclose(rates["slow"], 1000, rel_tol=0.2)


def test_the_budget_ends_first_starts_too(tmp_path: Path) -> None:
    """Regression: starts were not bounded, so a race of slow starters took many budgets."""
    fake = FakeWorld(tmp_path, **{f"s{n}": 1000.0 for n in range(8)})
    for name in fake.servers:
        fake.servers[name] = replace(fake.servers[name], ready_after_s=8.0)
    begun_s = fake.host.now_s()
    fake.conduct(sliced(controls=False, stopping={**SETTLE, "budget_s": 20}))
    assert fake.host.now_s() - begun_s <= 24, "not the 64 s of all starts"
    (event,) = [e for e in fake.troubles() if e.startswith("the budget of 20 s was spent before")]
    named = set(event.partition(": ")[2].split(", "))
    assert named < set(fake.servers)
    assert len(named) >= 5
    assert fake.left_running() == []


def test_a_single_contender_races_until_its_rate_is_known(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, mine=3000)
    fake.noise = 0.03
    fake.conduct(sliced(stopping={**SETTLE, "invocations": 4, "budget_s": 110}))
    conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
    assert conclusion["why"] == "settled"
    trials = [trial for trial in fake.trials() if trial["name"] == "mine"]
    assert sum(trial["requests_ok"] for trial in trials) >= 10_000
    assert len({trial["invocation"] for trial in trials}) >= 4
    assert {"null-server", "reference"} < {trial["name"] for trial in fake.trials()}


@pytest.mark.parametrize(
    ("name", "reads"), [("core_to_core_ns", "apart_ns"), ("memory_ns", "memory_ns")]
)
def test_each_slice_has_the_latencies_before_and_after_it(
    fake: FakeWorld, name: str, reads: str
) -> None:
    readings = itertools.count(1)
    setattr(fake, reads, lambda: float(next(readings)))
    fake.conduct(sliced(controls=False))
    rows = [row for _, block, row in rows_of_slices(fake) if block == 1]
    pairs = sorted(row[name] for row in rows)
    assert pairs[:3] == [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]


def test_a_slice_without_a_reading_has_no_latency(fake: FakeWorld) -> None:
    fake.apart_ns = lambda: None
    fake.conduct(sliced(controls=False))
    rows = [row for _, _, row in rows_of_slices(fake)]
    assert all("core_to_core_ns" not in row and "memory_ns" in row for row in rows)


def test_a_race_goes_on_where_latencies_cannot_be_read(fake: FakeWorld) -> None:
    fake.host.on_ask(lambda command: "latencies" in command, lambda *_: "no JSON")
    fake.conduct(sliced(controls=False))
    assert {trial["state"] for trial in fake.trials()} == {"ok"}
    said = [event.what for event in fake.events if isinstance(event, Event)]
    assert any(what.startswith("the latencies of the machine are not read") for what in said)
