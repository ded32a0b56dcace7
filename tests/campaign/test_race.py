"""Whole campaigns in a world without processes and without a sleep."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.standings import Standings
from deadheat.errors import DeadheatError
from deadheat.events import Progress
from deadheat.host import Completed, Exited, HostError, Sample
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.measure.contender import Contender
from deadheat.protocol import Protocol
from deadheat.store import Store, StoreError, TrialRecord
from deadheat.store.run_argument import run_argument
from tests.campaign.fake_world import GREETING, FakeWorld, greet

Order = list[tuple[str, int]]


def protocol(**values: Any) -> Protocol:
    """Three repetitions at two levels, without controls or a warm-up."""
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10, 100],
            "duration_s": 0.5,
            "controls": False,
            "warmup": {"kind": "none"},
            "stopping": {"kind": "fixed", "repetitions": 3},
            **values,
        }
    )


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, middle=2000, slow=1000)


def order(fake: FakeWorld) -> Order:
    return [(trial["name"], trial["connections"]) for trial in fake.trials()]


def test_every_block_is_complete(fake: FakeWorld) -> None:
    run_id = fake.conduct(protocol())
    trials = fake.trials()
    assert {trial["run_id"] for trial in trials} == {run_id}
    assert [trial["block"] for trial in trials] == [1] * 6 + [2] * 6 + [3] * 6
    every = set(itertools.product(("fast", "middle", "slow"), (10, 100)))
    for block in batches(order(fake), 6):
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
        fake.conduct(protocol(), seed)
        orders.append(order(fake))
        assert fake.rows("SELECT seed FROM run") == [{"seed": seed}]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert len({tuple(block) for block in batches(orders[0], 6)}) > 1  # anew in every block


def test_a_listed_order_is_kept(fake: FakeWorld) -> None:
    fake.conduct(protocol(order="listed"))
    assert order(fake) == list(itertools.product(("fast", "middle", "slow"), (10, 100))) * 3


def test_one_server_runs_at_a_time(fake: FakeWorld) -> None:
    fake.conduct(protocol(controls=True))
    assert fake.running == [[name] for name, _ in fake.loads]
    assert len(fake.loads) == 2 * 3 * 5


def test_client_and_server_are_kept_apart(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    starts = [spec for call, spec in fake.host.calls if call == "start"]
    assert {spec.cpus for spec in starts} == {(0,)}
    assert {spec.cpus for _, spec in fake.loads} == {(1,)}


def test_nothing_is_left_running(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    assert fake.left_running() == []
    ended = fake.rows("SELECT ended FROM instance")
    assert [json.loads(row["ended"]) for row in ended] == [{"how": "exit 0"}] * 3


def test_repetitions_are_spread_over_fresh_starts(fake: FakeWorld) -> None:
    fake.conduct(
        protocol(stopping={"kind": "fixed", "repetitions": 5, "invocations": 2}, connections=[1])
    )
    places = [(trial["invocation"], trial["block"]) for trial in fake.trials()]
    assert places[::3] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    starts = fake.rows("SELECT contender_id, invocation FROM instance ORDER BY id")
    assert sorted((row["contender_id"], row["invocation"]) for row in starts) == [
        *[(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]
    ]


def test_the_card_is_asked_for_once_and_kept(fake: FakeWorld) -> None:
    fake.conduct(protocol(stopping={"kind": "fixed", "repetitions": 2, "invocations": 2}))
    behaviors = [
        row["behavior"] for row in fake.rows("SELECT behavior FROM instance ORDER BY invocation")
    ]
    assert [json.loads(behavior)["status"] for behavior in behaviors[:3]] == [200] * 3
    assert behaviors[3:] == [None] * 3


def test_a_server_that_dies_is_taken_out_and_the_rest_goes_on(fake: FakeWorld) -> None:
    fake.servers["middle"] = replace(
        fake.servers["middle"], dies_after_s=3.2, exit_code=-9, log="out of memory\n"
    )
    fake.conduct(protocol())
    of_middle = [trial for trial in fake.trials() if trial["name"] == "middle"]
    *before, last = of_middle
    assert {trial["state"] for trial in before} == {"ok"}
    assert (last["state"], last["reason"]) == (
        "failed",
        "middle died under load (signal 9)\nout of memory",
    )
    assert len(of_middle) < 6
    assert [name for name, _ in order(fake)].count("fast") == 6
    assert [name for name, _ in order(fake)].count("slow") == 6
    assert any("middle died under load" in trouble for trouble in fake.troubles())
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]


def test_a_server_that_died_starts_again_in_the_next_invocation(fake: FakeWorld) -> None:
    fake.servers["slow"] = replace(fake.servers["slow"], dies_after_s=2)
    fake.conduct(protocol(stopping={"kind": "fixed", "repetitions": 4, "invocations": 2}))
    seen = {trial["invocation"] for trial in fake.trials() if trial["name"] == "slow"}
    assert seen == {1, 2}


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        (
            FakeServer(dies_after_s=0.01, exit_code=1, log="no configuration\n"),
            "slow ended before it was ready (exit 1)",
        ),
        (
            FakeServer(answer=greet, ready_after_s=100, log="no configuration\n"),
            "slow was not ready within 5 s: it never answered",
        ),
        (
            FakeServer(answer=lambda _: GREETING.replace(b"200", b"502"), log="no configuration\n"),
            "slow was not ready within 5 s: expected status 200, got 502",
        ),
    ],
)
def test_a_server_that_does_not_start_is_told_and_left_out(
    fake: FakeWorld, server: FakeServer, fault: str
) -> None:
    fake.servers["slow"] = server
    fake.conduct(protocol())
    assert {name for name, _ in order(fake)} == {"fast", "middle"}
    assert len(order(fake)) == 12
    assert fake.rows("SELECT name, fault FROM contender WHERE fault IS NOT NULL") == [
        {"name": "slow", "fault": fault}
    ]
    starts = fake.rows("SELECT fault, log_tail FROM instance WHERE fault IS NOT NULL")
    tries = 3 if "ended" in fault else 1
    assert starts == [{"fault": fault, "log_tail": "no configuration\n"}] * tries
    again = [f"{fault}; it is started again ({number} of 3 times)" for number in (2, 3)]
    assert fake.troubles() == [*again[: tries - 1], f"{fault}\n  | no configuration"]
    assert fake.left_running() == []


def test_a_server_that_was_right_once_only_is_not_measured(fake: FakeWorld) -> None:
    answers = itertools.chain([GREETING], itertools.repeat(b"SSH-2.0\r\n"))
    fake.servers["slow"] = FakeServer(answer=lambda _: next(answers))
    fake.conduct(protocol())
    assert {name for name, _ in order(fake)} == {"fast", "middle"}
    assert fake.troubles() == ["slow is not measured: no readable HTTP response to GET /"]
    assert fake.left_running() == []


def test_a_server_that_dies_while_it_is_warmed(fake: FakeWorld) -> None:
    """Regression: it was frozen all the same, and died once more in its first trial."""
    fake.servers["slow"] = replace(fake.servers["slow"], dies_after_s=0.5, log="bye\n")
    fake.conduct(protocol(warmup={"kind": "fixed", "duration_s": 1.0}))
    assert {name for name, _ in order(fake)} == {"fast", "middle"}
    fault = "slow died during its warm-up (exit 0)"
    again = [f"{fault}; it is started again ({number} of 3 times)" for number in (2, 3)]
    assert fake.troubles() == [*again, f"{fault}\n  | bye"]
    assert (
        fake.rows("SELECT fault, log_tail FROM instance WHERE fault IS NOT NULL")
        == [{"fault": fault, "log_tail": "bye\n"}] * 3
    )
    assert fake.left_running() == []


def test_without_any_server_nothing_is_measured(fake: FakeWorld) -> None:
    fake.servers = dict.fromkeys(fake.servers, FakeServer(dies_after_s=0.01, exit_code=1))
    with pytest.raises(DeadheatError, match="no contender is left to measure"):
        fake.conduct(protocol())
    assert fake.trials() == []
    assert fake.rows("SELECT count(*) AS n FROM contender WHERE fault IS NULL") == [{"n": 0}]
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]


def test_a_race_whose_last_contender_is_gone_ends(fake: FakeWorld) -> None:
    """Regression: the controls were measured on for blocks, beside nobody."""
    fake.servers = dict.fromkeys(fake.servers, FakeServer(dies_after_s=0.01, exit_code=1))
    with pytest.raises(DeadheatError, match="no contender is left to measure"):
        fake.conduct(protocol(controls=True, connections=[10], stopping=SETTLE))
    assert fake.trials() == []
    assert fake.left_running() == []


def test_a_url_where_nothing_answers_is_told_before_anything_is_measured(fake: FakeWorld) -> None:
    """Regression: the null server was raced first, alone."""
    dead = Contender("127.0.0.1:9", "contender", (), any_body=True, url="http://127.0.0.1:9/")
    with pytest.raises(DeadheatError, match="nothing answers there") as caught:
        fake.conduct(protocol(controls=True), extra=(dead,))
    assert caught.value.hint is not None
    assert fake.host.processes == {}
    assert fake.rows("SELECT * FROM run") == []


def test_a_server_whose_answers_vary_is_told_unless_that_is_meant(fake: FakeWorld) -> None:
    """Regression: a page with a time on it "answers nothing"; there was no way to race it."""
    numbers = itertools.count(10)
    fake.servers["own"] = FakeServer(answer=lambda _: GREETING[:-2] + b"%d" % next(numbers))
    fake.rates["own"] = 500
    own = Contender("own", "contender", ("own", "{port}"), any_body=True)
    fake.conduct(protocol(), extra=(own,))
    assert "own" not in {name for name, _ in order(fake)}
    assert fake.troubles()[0].endswith("if they are meant to: --any-body")
    fake.conduct(protocol(), extra=(replace(own, body_varies=True),))
    assert "own" in {name for name, _ in order(fake)}
    assert {("--any-body" in spec.command) for name, spec in fake.loads if name == "own"} == {True}
    assert not any("--any-body" in spec.command for name, spec in fake.loads if name == "slow")


def test_without_any_build_there_is_an_error_and_a_kept_run(fake: FakeWorld) -> None:
    fake.host.on_run(
        lambda command: command[0] == "maker", lambda *_: Completed(127, "", "", 0.1, 0.1)
    )
    with pytest.raises(DeadheatError, match="no contender is left to measure"):
        fake.conduct(protocol(controls=True))
    (run,) = fake.rows("SELECT state, conclusion FROM run")
    assert run["state"] == "failed"
    assert "no contender is left" in json.loads(run["conclusion"])["why"]


def test_an_interrupted_run_is_kept(fake: FakeWorld) -> None:
    def interrupt(loads: int) -> None:
        if loads == 7:
            raise KeyboardInterrupt

    fake.before_load = interrupt
    run_id = fake.conduct(protocol())
    assert len(fake.trials()) == 7
    (run,) = fake.rows("SELECT id, state, conclusion, ended_at FROM run")
    assert (run["id"], run["state"]) == (run_id, "interrupted")
    assert json.loads(run["conclusion"])["why"] == "interrupted"
    assert run["ended_at"] is not None
    resumed = run_argument(run_id, fake.path)
    way_on = f"deadheat run --resume {resumed} goes on"
    assert f"interrupted: what was measured is kept; {way_on}" in fake.troubles()
    assert fake.left_running() == []


def test_a_full_disk_ends_the_run_and_everything_in_it(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_trial, added = Store.add_trial, itertools.count(1)

    def until_full(store: Store, record: TrialRecord) -> int:
        if next(added) > 4:
            raise StoreError("the store cannot be written: disk full")
        return add_trial(store, record)

    monkeypatch.setattr(Store, "add_trial", until_full)
    with pytest.raises(StoreError, match="disk full"):
        fake.conduct(protocol())
    assert len(fake.trials()) == 4
    (run,) = fake.rows("SELECT state, conclusion FROM run")
    assert (run["state"], json.loads(run["conclusion"])["why"]) == (
        "failed",
        "the store cannot be written: disk full",
    )
    assert fake.left_running() == []


SETTLE = {"kind": "settle", "invocations": 2, "blocks_min": 4, "budget_s": 600}


def test_an_interrupt_while_it_builds_offers_nothing_to_resume(fake: FakeWorld) -> None:
    """Regression: `--resume` was offered, and refused."""

    def interrupt(*_: object) -> Completed:
        raise KeyboardInterrupt

    fake.host.on_run(lambda command: command[0] == "maker", interrupt)
    fake.conduct(protocol())
    assert fake.troubles() == ["interrupted: nothing was measured yet"]


def test_a_race_ends_when_its_order_is_settled(fake: FakeWorld) -> None:
    fake.conduct(protocol(stopping=SETTLE, connections=[10]))
    (run,) = fake.rows("SELECT conclusion FROM run")
    assert json.loads(run["conclusion"])["why"] == "settled"
    assert fake.host.now_s() < 600
    assert {trial["invocation"] for trial in fake.trials()} >= {1, 2}


def test_a_fixed_protocol_never_ends_settled(fake: FakeWorld) -> None:
    """Regression: a fixed protocol whose pairs were decided ended as "settled"."""
    fake.conduct(protocol(stopping={"kind": "fixed", "repetitions": 8}, connections=[10]))
    (run,) = fake.rows("SELECT conclusion FROM run")
    assert json.loads(run["conclusion"])["why"] == "all repetitions done"


def test_one_server_alone_is_not_settled_without_a_valid_trial() -> None:
    """Regression: a server that answered nothing rightly was "settled"."""
    assert not Standings(protocol(stopping=SETTLE), ["alone"]).last_look().settled


def test_a_race_that_does_not_settle_ends_with_its_budget(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, slow=1000, fast=1020)
    fake.noise = 0.3
    fake.conduct(protocol(stopping=SETTLE | {"budget_s": 60}, connections=[10]))
    (run,) = fake.rows("SELECT conclusion FROM run")
    assert json.loads(run["conclusion"])["why"] == "budget spent"
    assert 30 < fake.host.now_s() <= 62


def test_controls_run_in_every_block_and_do_not_compete(fake: FakeWorld) -> None:
    fake.conduct(protocol(controls=True, connections=[10]))
    roles = {row["name"]: row["role"] for row in fake.rows("SELECT name, role FROM contender")}
    assert roles == {
        **dict.fromkeys(("fast", "middle", "slow"), "contender"),
        **dict.fromkeys(("null-server", "reference"), "control"),
    }
    for block in batches(order(fake), 5):
        assert {name for name, _ in block} == set(roles)


def most_at_once(fake: FakeWorld) -> int:
    """The most processes that lived at the same time."""
    alive, most = set(), 0
    started = (str(number) for number in itertools.count(1))
    for call, what in fake.host.calls:
        if call == "start":
            alive.add(next(key for key in started if key in fake.host.processes))
        elif call == "stop":
            alive.discard(what)
        most = max(most, len(alive))
    return most


def test_contenders_that_do_not_fit_run_in_further_heats(fake: FakeWorld) -> None:
    stopping = {"kind": "fixed", "repetitions": 2}
    fake.conduct(protocol(at_once=2, controls=True, connections=[10], stopping=stopping))
    heats: dict[int, list[str]] = {}
    for trial in fake.trials():
        heats.setdefault(trial["heat"], []).append(trial["name"])
    assert sorted(heats) == [1, 2]
    assert sorted(len(names) for names in heats.values()) == [2 * 3, 2 * 4]
    assert all({"null-server", "reference"} <= set(names) for names in heats.values())
    everyone = [name for names in heats.values() for name in names]
    assert {everyone.count(name) for name in ("fast", "middle", "slow")} == {2}
    assert len({trial["block"] for trial in fake.trials()}) == 4
    assert most_at_once(fake) == 4


def test_memory_decides_how_many_are_started(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = fake.host.sample
    monkeypatch.setattr(
        fake.host,
        "sample",
        lambda at_s, processes: replace(sample(at_s, processes), memory_available_bytes=1 << 20),
    )
    fake.conduct(protocol())
    assert most_at_once(fake) == 1
    assert [trial["heat"] for trial in fake.trials()] == [1] * 6 + [2] * 6 + [3] * 6


def test_the_ceiling_is_known_before_the_first_contender(fake: FakeWorld) -> None:
    fake.rates["null-server"] = 3500.0
    warmup = {"kind": "fixed", "duration_s": 1.0}
    fake.conduct(protocol(controls=True, connections=[10], warmup=warmup))
    failed = fake.rows(
        "SELECT DISTINCT name FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = contender_id WHERE code = 'ceiling' AND NOT passed"
    )
    assert [row["name"] for row in failed] == ["fast"]
    read = fake.rows("SELECT count(*) AS n FROM gate WHERE code = 'ceiling'")
    assert read == [{"n": 9 + 3}]  # of each contender and the reference, from the first block on


def test_a_clock_that_drops_fails_a_gate_and_each_server_has_its_own(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It drops by 3 % a block, and is compared with the highest; the slow server's is lower."""
    sample = fake.host.sample

    def busy(at_s: float, processes: Sequence[str]) -> Sample:
        loaded = fake.loads[-1][0] if fake.loads else ""
        block = (len(fake.loads) - 1) // 3
        khz = (2000 if loaded == "slow" else 3000) * (100 - 3 * block) // 100
        ticks = {0: (int(at_s * 100), *(0,) * 7)}
        return replace(sample(at_s, processes), cpu_ticks=ticks, cpu_khz={0: khz})

    monkeypatch.setattr(fake.host, "sample", busy)
    fake.conduct(protocol(connections=[10]))
    read = fake.rows(
        "SELECT block, name, passed FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = contender_id WHERE code = 'frequency'"
    )
    passed = {(row["block"], row["name"]): row["passed"] for row in read}
    names = ("fast", "middle", "slow")
    assert passed == {(2, name): 1 for name in names} | {(3, name): 0 for name in names}


def test_progress_leaves_out_what_a_lost_contender_had_left(fake: FakeWorld) -> None:
    fake.servers["slow"] = FakeServer(answer=greet, dies_after_s=5.0, exit_code=7)
    fake.conduct(protocol())
    counts = [event for event in fake.events if isinstance(event, Progress) and event.of]
    assert counts
    assert all(event.done < (event.of or 0) for event in counts)


def test_latency_is_measured_apart_below_saturation(fake: FakeWorld) -> None:
    fake.conduct(protocol(connections=[10]), latency_s=2.0)
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
    fake.rates["null-server"] = 3500.0  # so near that the ceiling says nothing of `fast`
    fake.conduct(
        protocol(controls=True, connections=[10], warmup={"kind": "fixed", "duration_s": 1.0}),
        latency_s=2.0,
    )
    measured = {trial["name"] for trial in fake.trials() if trial["kind"] == "latency"}
    assert measured == {"middle", "slow"}
    remark = "fast: no latency, because none of 5 more trials gave a valid rate to take shares of"
    assert fake.troubles().count(remark) == 1


def test_warming_goes_on_until_the_rate_is_steady(fake: FakeWorld) -> None:
    warmup = {"kind": "steady", "least_s": 1.0, "limit_s": 5.0}
    fake.conduct(protocol(warmup=warmup, connections=[10]))
    steady = [json.loads(row["steady"]) for row in fake.rows("SELECT steady FROM instance")]
    assert {reading["kind"] for reading in steady} == {"flat"}
    assert all(reading["trouble"] is None for reading in steady)


def test_the_machine_and_the_command_are_kept(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    hosts = fake.rows("SELECT role, cpus FROM host ORDER BY role")
    assert hosts == [{"role": "load", "cpus": "[1]"}, {"role": "server", "cpus": "[0]"}]
    (run,) = fake.rows("SELECT command, protocol FROM run")
    assert json.loads(run["command"]) == ["deadheat", "run"]
    assert Protocol.model_validate_json(run["protocol"]) == protocol()
    (build, *_) = fake.rows("SELECT server, files, toolchains FROM build ORDER BY id")
    assert build["server"] == "fast"
    assert "main.c" in json.loads(build["files"])
    assert json.loads(build["toolchains"]) == {"maker": "1.0"}


def test_a_stop_that_fails_leaves_none_of_the_others_running(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the first stop that raised kept all that were to follow from being stopped."""
    stop, stops = FakeHost.stop, itertools.count(1)

    def failing_once(host: FakeHost, process: str, signal: str, deadline_s: float) -> Exited:
        ended = stop(host, process, signal, deadline_s)
        if next(stops) == 1:
            raise HostError("the agent lost it")
        return ended

    monkeypatch.setattr(FakeHost, "stop", failing_once)
    with pytest.raises(HostError, match="the agent lost it"):
        fake.conduct(protocol())
    assert fake.left_running() == []


def test_bug_an_engine_killed_in_a_fixed_warm_up_ended_the_race(fake: FakeWorld) -> None:
    def kill_first(loads_before: int) -> None:
        if not loads_before and not killed:
            killed.append(True)
            raise HostError("deadheat-load ended by signal 9")

    killed: list[bool] = []
    fake.before_load = kill_first
    fake.conduct(protocol(warmup={"kind": "fixed", "duration_s": 1.0}))
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]
    (trouble, *_) = fake.troubles()
    assert "could not be warmed up: deadheat-load ended by signal 9; it is started" in trouble
    unsteady = fake.rows(
        "SELECT DISTINCT contender.name FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id"
        " WHERE gate.code = 'steady' AND NOT gate.passed"
    )
    assert unsteady == []
    assert len(fake.trials()) == 18
