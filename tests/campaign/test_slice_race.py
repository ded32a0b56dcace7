"""Races in slices, in a world without processes and without a sleep."""

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
from deadheat.errors import DeadheatError
from deadheat.events import Board
from deadheat.host import Exited, HostError, Listeners, Sample
from deadheat.host.fake import FakeServer
from deadheat.protocol import Protocol
from deadheat.store import store as store_module
from tests.campaign.fake_world import FakeWorld, greet

SETTLE = {"kind": "settle", "invocations": 2, "budget_s": 60}


def protocol(**values: Any) -> Protocol:
    """Slices of 100 ms, four rounds a block, without a warm-up."""
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10],
            "duration_s": 0.1,
            "slices": {"rounds": 4},
            "warmup": {"kind": "none"},
            "stopping": SETTLE,
            **values,
        }
    )


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
    fake.conduct(protocol(controls=False))
    rounds: dict[int, list[str]] = {}
    for name, _, row in rows_of_slices(fake):
        rounds.setdefault(row["round"], []).append(name)
    assert all(len(names) == len(set(names)) for names in rounds.values())
    assert set(rounds[1]) == {"fast", "middle", "slow"}


def test_controls_run_in_every_fourth_round(fake: FakeWorld) -> None:
    fake.conduct(protocol(slices={"rounds": 8}))
    rounds = {row["round"] for name, _, row in rows_of_slices(fake) if name == "reference"}
    assert {(number - 1) % 8 for number in rounds} == {0, 4}


def test_one_server_runs_at_a_time(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    assert fake.running == [[name] for name, _ in fake.slices]


def test_a_trial_is_the_sum_of_its_slices(fake: FakeWorld) -> None:
    fake.conduct(protocol(controls=False))
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
    fake.conduct(protocol(controls=False))
    assert {trial["state"] for trial in fake.trials()} == {"ok"}
    gates = fake.rows("SELECT passed, reading FROM gate WHERE code = 'retransmits'")
    assert len(gates) == len(fake.trials())
    assert {(gate["passed"], gate["reading"]) for gate in gates} == {(1, 0)}
    stored = json.loads(fake.trials()[0]["result"])
    assert stored["block_network"]["RetransSegs"] > 0, "kept as a reading"


def test_lost_segments_fail_only_the_contender_that_lost_them(fake: FakeWorld) -> None:
    fake.retransmits["middle"] = 3
    fake.conduct(protocol(controls=False))
    failed = fake.rows(
        "SELECT DISTINCT contender.name FROM gate"
        " JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id"
        " WHERE gate.code = 'retransmits' AND NOT gate.passed"
    )
    assert [row["name"] for row in failed] == ["middle"]


def test_connections_are_renewed_once_per_block(fake: FakeWorld) -> None:
    fake.conduct(protocol(controls=False))
    renewed = Counter(name for name, request in fake.slices if request["renew"])
    blocks = Counter(name for name, _, row in rows_of_slices(fake) if row["round"] % 4 == 1)
    starts = Counter(
        row["name"]
        for row in fake.rows(
            "SELECT contender.name FROM instance"
            " JOIN contender ON contender.id = instance.contender_id"
        )
    )
    assert renewed == blocks - starts, "not those of a fresh instance"
    assert {request["discard_s"] for _, request in fake.slices if request["renew"]} == {0.1}


def test_a_slow_server_has_longer_slices(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=40)
    warmup = {"kind": "fixed", "duration_s": 1.0}
    fake.conduct(protocol(controls=False, warmup=warmup))
    durations = {name: request["duration_s"] for name, request in fake.slices}
    assert durations["fast"] == 0.1
    assert durations["slow"] == pytest.approx(3 * 10 / 40, rel=0.05)


def test_clear_differences_settle_before_the_budget(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    fake.conduct(protocol())
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
        fake.conduct(protocol(stopping=stopping | {"question": question}))
        conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
        ended_s[question] = fake.host.now_s()
    assert conclusion["why"] == "verdict reached"
    assert ended_s["slower"] < ended_s["order"]


def test_a_settled_contender_stops_running(fake: FakeWorld) -> None:
    """`slow` is far behind; only the two close ones race on."""
    fake.noise = 0.2
    fake.conduct(protocol())
    last_block = max(block for _, block, _ in rows_of_slices(fake))
    last = {name for name, block, _ in rows_of_slices(fake) if block == last_block}
    assert last == {"fast", "middle", "null-server", "reference"}


def test_instances_are_replaced_while_the_race_goes_on(fake: FakeWorld) -> None:
    fake.noise = 0.2
    fake.conduct(protocol())
    starts = Counter(
        row["name"]
        for row in fake.rows(
            "SELECT contender.name FROM instance"
            " JOIN contender ON contender.id = instance.contender_id"
        )
    )
    assert starts["fast"] >= 2
    assert starts["middle"] >= 2
    assert starts["reference"] == 1


def test_nothing_is_left_running(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    assert fake.left_running() == []


def test_several_levels_have_a_load_process_each(fake: FakeWorld) -> None:
    fake.conduct(protocol(connections=[1, 10], controls=False))
    assert {trial["connections"] for trial in fake.trials()} == {1, 10}
    opened = [spec for call, spec in fake.host.calls if call == "converse"]
    assert {spec.command[spec.command.index("-c") + 1] for spec in opened} == {"1", "10"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bug_idle_connections_of_another_level_blocked_a_server(fake: FakeWorld) -> None:
    """One level after the other in a block, and each hangs up after its last slice."""
    fake.conduct(protocol(connections=[10, 20], controls=False))
    of_fast = [request for name, request in fake.slices if name == "fast"]
    opened = [request["hang_up"] for request in of_fast if request["duration_s"] < 0.1]
    assert opened == [True] * len(opened) != [], "after each start"
    measured = [request["hang_up"] for request in of_fast if request["duration_s"] == 0.1]
    blocks = len(measured) // 8
    assert measured[: 8 * blocks] == [False, False, False, True] * 2 * blocks


def test_a_large_field_is_split_into_groups(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, **{f"s{n:02}": 1000.0 + n for n in range(9)})
    fake.conduct(protocol(controls=False, slices={"rounds": 4, "group": 4}))
    blocks: dict[int, set[str]] = {}
    for name, block, _ in rows_of_slices(fake):
        blocks.setdefault(block, set()).add(name)
    assert max(map(len, blocks.values())) <= 4
    assert set().union(*blocks.values()) == {f"s{n:02}" for n in range(9)}


def test_a_server_that_dies_is_a_failed_trial_and_is_started_again(fake: FakeWorld) -> None:
    def die_once(name: str, request: dict[str, Any]) -> None:
        if name == "slow" and len(fake.slices) == 9:
            for process in fake.host.processes.values():
                if process.spec.command[0] == "slow" and process.exited is None:
                    process.exited = Exited(1, 1.0, survivors=0, killed=False)
            raise HostError("no answer within 20 s")

    fake.before_slice = die_once
    fake.conduct(protocol(controls=False))
    failed = [trial for trial in fake.trials() if trial["state"] == "failed"]
    assert [trial["name"] for trial in failed] == ["slow"]
    assert "died under load" in failed[0]["reason"]
    later = [trial for trial in fake.trials() if trial["block"] > failed[0]["block"]]
    assert any(trial["name"] == "slow" and trial["state"] == "ok" for trial in later)


def test_a_contender_that_keeps_failing_is_out(fake: FakeWorld) -> None:
    def refuse(name: str, request: dict[str, Any]) -> None:
        if name == "slow":
            raise HostError("no answer within 20 s")

    fake.before_slice = refuse
    fake.conduct(protocol(controls=False))
    failed = [trial for trial in fake.trials() if trial["state"] == "failed"]
    assert [trial["name"] for trial in failed] == ["slow"] * 3
    assert "slow is out: 3 trials in a row failed" in fake.troubles()
    assert fake.left_running() == []


def test_a_load_process_that_answers_another_slice_is_a_fault(fake: FakeWorld) -> None:
    ask = fake.host.ask

    def wrong_number(process: str, line: str | None, deadline_s: float) -> str:
        answer = ask(process, line, deadline_s)
        return answer.replace('"type": "slice", "id": 1', '"type": "slice", "id": 99')

    fake.host.ask = wrong_number  # type: ignore[method-assign]
    with pytest.raises(DeadheatError, match="no contender is left"):
        fake.conduct(protocol(controls=False))
    assert any("did not answer slice 1" in trouble for trouble in fake.troubles())


def test_an_interrupted_race_goes_on_without_losing_a_trial(fake: FakeWorld) -> None:
    def interrupt(name: str, request: dict[str, Any]) -> None:
        if len(fake.slices) == 40:
            raise KeyboardInterrupt

    fake.noise = 0.2
    fake.before_slice = interrupt
    run_id = fake.conduct(protocol(controls=False))
    before = len(fake.trials())
    assert before > 0
    fake.before_slice = lambda _, __: None
    fake.resume(run_id)
    trials = fake.trials()
    assert len(trials) > before
    assert [trial["block"] for trial in trials] == sorted(trial["block"] for trial in trials)
    assert fake.left_running() == []


def test_the_first_order_is_reported_after_half_a_minute(fake: FakeWorld) -> None:
    fake.noise = 0.2
    fake.conduct(protocol())
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
        protocol(slices=slices)


def test_rejects_slices_of_a_fixed_protocol() -> None:
    with pytest.raises(ValueError, match="slices need stopping"):
        protocol(stopping={"kind": "fixed", "repetitions": 3})


def test_rates_are_plausible(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    rates = {trial["name"]: trial["rate_per_s"] for trial in fake.trials()}
    assert math.isclose(rates["slow"], 1000, rel_tol=0.2)


def test_bug_a_block_in_which_a_worker_was_replaced_was_valid(fake: FakeWorld) -> None:
    """Its trial fails the gate; a process that was not there in an earlier block has none."""

    def replace_worker(name: str, request: dict[str, Any]) -> None:
        slices = [each for each, _ in fake.slices].count("fast")
        members = frozenset({(1, 1), (2, 2) if slices < 20 else (3, 3)})
        for process in fake.host.processes.values():
            if process.spec.command[0] == "fast":
                process.members = members

    fake.before_slice = replace_worker
    fake.conduct(protocol(controls=False))
    failed = fake.rows(
        "SELECT contender.name, gate.reading FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id"
        " WHERE gate.code = 'workers' AND NOT gate.passed"
    )
    assert failed == [{"name": "fast", "reading": 1.0}]
    assert any(": check workers failed: " in trouble for trouble in fake.troubles())


def test_bug_a_server_killed_between_slices_was_loaded_to_the_end(fake: FakeWorld) -> None:
    """Refused connections are a result of the load process, so its death went unnoticed."""

    def kill(name: str, request: dict[str, Any]) -> None:
        for process in fake.host.processes.values():
            if process.spec.command[0] == name == "slow":
                process.exited = Exited(-9, 1.0, survivors=0, killed=False)

    fake.rates["slow"] = 1e-9
    fake.before_slice = kill
    fake.conduct(protocol(controls=False))
    deaths = [trouble for trouble in fake.troubles() if "slow died under load" in trouble]
    assert deaths[0] == "slow at 10 connections: slow died under load (signal 9)"
    assert len([name for name, _ in fake.slices if name == "slow"]) == len(deaths) == 3


def test_the_budget_ends_first_starts_too(tmp_path: Path) -> None:
    """Regression: starts were not bounded, so a race of slow starters took many budgets."""
    fake = FakeWorld(tmp_path, **{f"s{n}": 1000.0 for n in range(8)})
    for name in fake.servers:
        fake.servers[name] = replace(fake.servers[name], ready_after_s=8.0)
    begun_s = fake.host.now_s()
    fake.conduct(protocol(controls=False, stopping={**SETTLE, "budget_s": 20}))
    assert fake.host.now_s() - begun_s <= 24, "not the 64 s of all starts"
    (event,) = [e for e in fake.troubles() if e.startswith("the budget of 20 s was spent before")]
    assert "s7" in event
    assert "s0" not in event
    assert fake.left_running() == []


def test_a_single_contender_races_until_its_rate_is_known(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, mine=3000)
    fake.noise = 0.03
    fake.conduct(protocol(stopping={**SETTLE, "invocations": 4, "budget_s": 300}))
    conclusion = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
    assert conclusion["why"] == "settled"
    trials = [trial for trial in fake.trials() if trial["name"] == "mine"]
    assert sum(trial["requests_ok"] for trial in trials) >= 10_000
    assert len({trial["invocation"] for trial in trials}) >= 4
    assert {"null-server", "reference"} < {trial["name"] for trial in fake.trials()}


def dies_at_first(fake: FakeWorld, server: FakeServer) -> None:
    """The first process of `slow` behaves like this one."""
    scripted = iter([server])
    fake.host.on_start(
        lambda command: command[0] == "slow",
        lambda *_: next(scripted, fake.servers["slow"]),
    )


@pytest.mark.parametrize("when", ["while it starts", "while it was verified", "during its warm-up"])
@pytest.mark.parametrize("slices", [{"rounds": 4}, None])
def test_bug_a_server_killed_during_its_start_was_left_out(
    fake: FakeWorld, when: str, slices: dict[str, int] | None
) -> None:
    answered: list[bytes] = []

    def answer(request: bytes) -> bytes:
        answered.append(request)
        if len(answered) == 1 or when != "while it was verified":
            return greet(request)
        fake.host.sleep(0.1)
        return b""

    dies_after_s = {"while it starts": 0, "while it was verified": 0.05, "during its warm-up": 0.3}
    dies_at_first(fake, FakeServer(answer, dies_after_s=dies_after_s[when], exit_code=-9))
    stopping = {"stopping": {"kind": "fixed", "repetitions": 2}} if slices is None else {}
    fake.conduct(protocol(slices=slices, warmup={"kind": "fixed", "duration_s": 0.5}, **stopping))
    assert "slow" in {trial["name"] for trial in fake.trials() if trial["state"] == "ok"}
    assert fake.rows("SELECT fault FROM contender WHERE fault IS NOT NULL") == []
    (start,) = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert "signal 9" in start["fault"]
    assert when in start["fault"] or "before it was ready" in start["fault"]
    assert f"{start['fault']}; it is started again (2 of 3 times)" in fake.troubles()
    assert fake.left_running() == []


def test_bug_a_server_killed_after_its_first_answer_was_taken_for_another(fake: FakeWorld) -> None:
    """Nothing listened on its port any more, so its answer seemed to be that of a container."""
    gone = FakeServer(greet, dies_after_s=0.05, exit_code=-9)
    dies_at_first(fake, replace(gone, listeners=Listeners([], [], complete=True)))
    listeners = fake.host.listeners

    def slowly(process: str, port: int) -> Listeners:
        fake.host.sleep(0.1)
        return listeners(process, port)

    fake.host.listeners = slowly  # type: ignore[method-assign]
    fake.conduct(protocol())
    (start,) = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert start["fault"] == "slow ended before it was ready (signal 9)"
    assert "slow" in {trial["name"] for trial in fake.trials()}


def test_bug_an_engine_killed_in_warm_up_cost_its_contender_the_race(fake: FakeWorld) -> None:
    def fail_first(name: str, request: dict[str, Any]) -> None:
        if name == "slow" and "slow" not in {each for each, _ in fake.slices}:
            fake.slices.append((name, request))
            raise HostError("it ended with exit code -9 before it answered")

    fake.before_slice = fail_first
    fake.conduct(protocol(warmup={"kind": "fixed", "duration_s": 0.5}))
    assert {trial["state"] for trial in fake.trials()} == {"ok"}
    (start,) = fake.rows("SELECT fault FROM instance WHERE fault IS NOT NULL")
    assert start["fault"].startswith("slow could not be warmed up: it ended with exit code -9")
    assert fake.left_running() == []


def test_a_server_that_cannot_be_warmed_up_is_tried_three_times(fake: FakeWorld) -> None:
    def fail(name: str, request: dict[str, Any]) -> None:
        if name == "slow":
            raise HostError("no answer within 20 s")

    fake.before_slice = fail
    fake.conduct(protocol(warmup={"kind": "fixed", "duration_s": 0.5}))
    assert "slow is out: 3 trials in a row failed" in fake.troubles()
    first = fake.rows("SELECT fault FROM instance WHERE contender_id = 3 AND invocation = 1")
    assert [start["fault"] is None for start in first] == [False, False, True]


class Killed(BaseException):
    """Nothing in deadheat handles it, as nothing handles SIGKILL."""


@pytest.mark.parametrize("slices", [{"rounds": 4}, None])
def test_bug_a_resumed_run_past_its_budget_left_contenders_without_a_trial(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch, slices: dict[str, int] | None
) -> None:
    """Regression: the first block outlasted the budget, and a SIGKILL hit while it was stored."""
    slow_s = 100.0
    fake.before_slice = lambda *_: fake.host.sleep(slow_s)
    fake.before_load = lambda _: fake.host.sleep(slow_s)
    insert = store_module._insert_trial
    stored: list[int] = []

    def killed(*values: Any) -> int:
        if len(stored) == 2:
            raise Killed
        stored.append(insert(*values))
        return stored[-1]

    monkeypatch.setattr(store_module, "_insert_trial", killed)
    with pytest.raises(Killed):
        fake.conduct(protocol(slices=slices))
    monkeypatch.setattr(store_module, "_insert_trial", insert)
    fake.before_slice, fake.before_load = lambda *_: None, lambda _: None
    (run,) = fake.rows("SELECT id FROM run")
    fake.resume(run["id"])
    measured = {trial["name"] for trial in fake.trials() if trial["state"] == "ok"}
    assert measured == {"fast", "middle", "slow", "null-server", "reference"}


def test_a_block_is_stored_whole_or_not_at_all(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = store_module._insert_trial
    calls: list[int] = []

    def killed(*values: Any) -> int:
        calls.append(1)
        if len(calls) == 8:  # of the second block, with five trials each
            raise Killed
        return insert(*values)

    monkeypatch.setattr(store_module, "_insert_trial", killed)
    with pytest.raises(Killed):
        fake.conduct(protocol())
    assert {trial["block"] for trial in fake.trials()} == {1}
    assert len(fake.trials()) == 5


def test_a_resumed_run_past_its_budget_ends_if_all_have_a_trial(fake: FakeWorld) -> None:
    def interrupt(name: str, request: dict[str, Any]) -> None:
        fake.host.sleep(5.0)
        if len(fake.slices) == 20:
            raise KeyboardInterrupt

    fake.before_slice = interrupt
    run_id = fake.conduct(protocol())
    before = len(fake.trials())
    fake.before_slice = lambda *_: None
    fake.resume(run_id)
    assert len(fake.trials()) == before == 5
