"""Runs that ended early and go on, in a world without processes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.campaign.campaign import plan_of
from deadheat.campaign.resume import load_unfinished
from deadheat.catalog import load_catalog
from deadheat.errors import DeadheatError, StoreError
from deadheat.events import Progress
from deadheat.host.fake import FakeServer
from deadheat.store import Conclusion, Store
from tests.campaign.fake_world import FakeWorld, greet
from tests.campaign.made_protocols import alone, fixed, sliced
from tests.campaign.test_alone import places

RATES = {"a": 3000.0, "b": 2000.0, "c": 1000.0}


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, **RATES)


def whole_run(folder: Path, **values: object) -> FakeWorld:
    """The same protocol and seed, never interrupted."""
    folder.mkdir()
    fake = FakeWorld(folder, **RATES)
    fake.conduct(alone(**values), labels={"b": "Row B"})
    return fake


@contextmanager
def interrupted_at(fake: FakeWorld, load: int) -> Iterator[None]:
    """The user interrupts a run in its load of that number, from 0."""

    def interrupt(loads: int) -> None:
        if loads == load:
            raise KeyboardInterrupt

    fake.before_load = interrupt
    yield
    fake.before_load = lambda _: None


def cut(fake: FakeWorld, load: int, **values: object) -> str:
    """A run that the user interrupts in this load."""
    with interrupted_at(fake, load):
        run_id = fake.conduct(alone(**values), labels={"b": "Row B"})
    assert fake.rows("SELECT state FROM run") == [{"state": "interrupted"}]
    return run_id


@pytest.mark.parametrize("load", [0, 3, 4, 7, 15])
@pytest.mark.parametrize("restart", ["never", "level", "repetition"])
def test_every_step_is_measured_once_in_the_order_of_a_whole_run(
    fake: FakeWorld, tmp_path: Path, load: int, restart: str
) -> None:
    values = {"controls": True, "order": "random", "restart": restart}
    run_id = cut(fake, load, **values)
    assert fake.resume(run_id) == run_id
    whole = whole_run(tmp_path / "whole", **values)
    assert places(fake) == places(whole)
    assert fake.rows("SELECT name, label, position FROM contender") == whole.rows(
        "SELECT name, label, position FROM contender"
    )
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]
    (resumed,) = fake.conclusion()["resumed"]
    assert resumed["trials"] == load
    assert fake.left_running() == []


def test_gates_and_the_ceiling_are_those_of_a_whole_run(fake: FakeWorld, tmp_path: Path) -> None:
    """The null server has been measured before: its rate still bounds who comes later."""
    gates = """
        SELECT contender.name, connections, block, code, threshold IS NULL AS open FROM gate
        JOIN trial ON trial.id = trial_id JOIN contender ON contender.id = contender_id
        ORDER BY trial.id, code
    """
    fake.resume(cut(fake, 6, controls=True))
    assert fake.rows(gates) == whole_run(tmp_path / "whole", controls=True).rows(gates)
    assert any(row["code"] == "ceiling" and row["name"] == "c" for row in fake.rows(gates))


def test_a_contender_cut_short_goes_on_in_a_fresh_process(fake: FakeWorld) -> None:
    run_id = cut(fake, 1)
    fake.resume(run_id)
    assert fake.started() == ["a", "a", "b", "c"]
    invocations = fake.rows("SELECT invocation FROM instance ORDER BY id")
    assert [row["invocation"] for row in invocations] == [1, 2, 1, 1]


def test_times_go_on_where_they_were(fake: FakeWorld) -> None:
    fake.resume(cut(fake, 5))
    times_s = [row["at_s"] for row in fake.trials()]
    assert times_s == sorted(times_s)


def test_progress_counts_what_is_left_of_the_whole(fake: FakeWorld) -> None:
    run_id = cut(fake, 5)
    fake.events.clear()
    fake.resume(run_id)
    counts = [
        (event.done, event.of)
        for event in fake.events
        if isinstance(event, Progress) and event.left_s
    ]
    assert counts == [(done, 12) for done in range(5, 12)]


def test_it_may_be_interrupted_again(fake: FakeWorld) -> None:
    run_id = cut(fake, 2)
    with interrupted_at(fake, 6):
        fake.resume(run_id)
    fake.resume(run_id)
    assert len(places(fake)) == len(set(places(fake))) == 12
    assert [resumed["trials"] for resumed in fake.conclusion()["resumed"]] == [2, 6]


def test_a_trial_that_failed_is_tried_again(fake: FakeWorld) -> None:
    fake.servers["a"] = FakeServer(answer=greet, dies_after_s=0.7, exit_code=7)
    run_id = cut(fake, 6)
    fake.servers["a"] = FakeServer(answer=greet)
    failed = {(r["name"], r["connections"], r["block"]) for r in fake.trials() if r["reason"]}
    assert failed
    fake.resume(run_id)
    counts = Counter(places(fake))
    assert {place for place, count in counts.items() if count == 2} == failed
    assert len(counts) == 12


def test_a_contender_whose_build_changed_is_refused(fake: FakeWorld, tmp_path: Path) -> None:
    run_id = cut(fake, 5)
    (tmp_path / "servers" / "c" / "main.c").write_text("int other;\n")
    fake.resume(run_id)
    assert {name for name, *_ in places(fake)} == {"a", "b"}
    (fault,) = fake.rows("SELECT fault FROM contender WHERE name = 'c'")
    assert fault["fault"].startswith("its build has changed since this run began: it was ")
    assert any("c is not resumed" in remark for remark in fake.troubles())


def test_where_no_contender_can_go_on_the_run_says_so(fake: FakeWorld, tmp_path: Path) -> None:
    run_id = cut(fake, 9)
    (tmp_path / "servers" / "c" / "main.c").write_text("int other;\n")
    with pytest.raises(DeadheatError, match=r"no contender of run \S+ can be resumed"):
        fake.resume(run_id)
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]


def test_another_generator_is_refused_and_the_run_is_left_as_it_was(fake: FakeWorld) -> None:
    run_id = cut(fake, 5)
    fake.world = replace(fake.world, generator_version="1")
    with pytest.raises(DeadheatError, match="was measured with engine 0, and here is engine 1"):
        fake.resume(run_id)
    assert fake.rows("SELECT state FROM run") == [{"state": "interrupted"}]


def wake_up_us(fake: FakeWorld) -> set[int | None]:
    """How idle CPUs were held in the stored run, of all its machines."""
    hosts = [json.loads(row["fingerprint"]) for row in fake.rows("SELECT fingerprint FROM host")]
    return {host["cpu"]["idle"]["wake_up_us"] for host in hosts}


@pytest.mark.parametrize(("awake", "held_us"), [(True, 0), (False, None)])
def test_a_run_keeps_idle_cpus_awake_if_its_protocol_says_so_and_so_does_its_rest(
    fake: FakeWorld, awake: bool, held_us: int | None
) -> None:
    run_id = cut(fake, 5, awake=awake)
    assert wake_up_us(fake) == {held_us}
    fake.host.wake_up_us = None  # as the kernel does when the agent ends
    fake.resume(run_id)
    assert fake.host.wake_up_us == held_us


def test_a_machine_whose_idle_cpus_sleep_in_another_way_is_refused(fake: FakeWorld) -> None:
    """Their rates differ."""
    run_id = cut(fake, 5)
    fake.host.keep_awake()
    with pytest.raises(DeadheatError, match="idle CPUs slept in another way"):
        fake.resume(run_id)
    assert fake.rows("SELECT state FROM run") == [{"state": "interrupted"}]


def test_a_run_that_another_process_took_is_not_taken_twice(fake: FakeWorld) -> None:
    run_id = cut(fake, 5)
    (before,) = fake.rows("SELECT writer FROM run")
    with Store(fake.path) as store:
        with pytest.raises(StoreError, match="just been resumed"):
            store.reopen_run(run_id, "another's", Conclusion())
        store.reopen_run(run_id, before["writer"], Conclusion())
    assert fake.rows("SELECT state, ended_at FROM run") == [{"state": "running", "ended_at": None}]


def test_a_series_with_a_recovery_is_of_one_process_and_never_goes_on(fake: FakeWorld) -> None:
    values = {
        "connections": [10],
        "recovery": {
            **{"idle_cpus": 0.05, "watch_s": 2, "probe_s": 0.1},
            **{"rate_share": 0.5, "limit_s": 2},
        },
    }
    run_id = cut(fake, 6, **values)  # each trial is followed by a probe
    cut_one, *_ = [name for name, *_ in reversed(places(fake))]
    before = Counter(name for name, *_ in places(fake))
    fake.resume(run_id)
    after = Counter(name for name, *_ in places(fake))
    assert after[cut_one] == before[cut_one]
    assert set(after) == {"a", "b", "c"}


def test_a_race_that_was_over_has_nothing_left_to_measure(fake: FakeWorld) -> None:
    """Its process was killed after the last trial, before it was ended."""
    run_id = fake.conduct(fixed())
    trials = len(fake.trials())
    fake.resume(run_id)
    assert len(fake.trials()) == trials
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["deadheat", "run"], "ended before all its contenders were stored"),
        (["deadheat", "calibrate"], "`footprint` measured here can be resumed"),
    ],
)
def test_refuses_a_run_that_cannot_go_on(fake: FakeWorld, command: list[str], error: str) -> None:
    with Store(fake.path) as store:
        run_id = store.begin_run(
            protocol=alone(),
            command=command,
            seed=1,
            deadheat_version="0",
            generator_version="engine 0",
        )
        with pytest.raises(DeadheatError, match=error):
            load_unfinished(store, run_id)


def test_bug_a_race_was_judged_anew_after_an_interrupt_of_its_latency(tmp_path: Path) -> None:
    """At 3.75 % of the error, so that a settled race raced on."""
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    with interrupted_at(fake, 2):
        run_id = fake.conduct(sliced(), latency_s=1.0)
    ended, raced = fake.conclusion(), [t for t in fake.trials() if t["kind"] == "measure"]
    assert ended["why"] == "settled"
    fake.resume(run_id, latency_s=1.0)
    after = fake.conclusion()
    assert {**ended, "resumed": after["resumed"]} == after
    assert [t for t in fake.trials() if t["kind"] == "measure"] == raced
    late = [t["name"] for t in fake.trials()[len(raced) + 2 :]]
    assert sorted(late) == ["fast"] * 3 + ["slow"] * 3
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]


def test_bug_a_race_was_judged_anew_after_a_kill_during_its_latency(tmp_path: Path) -> None:
    """The verdict was stored only when the run ended."""
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    seen: list[object] = []

    def look_at_the_store(number: int) -> None:
        if number == 2:
            seen.append(fake.conclusion()["why"])

    fake.before_load = look_at_the_store
    fake.conduct(sliced(), latency_s=1.0)
    assert seen == ["settled"]


def test_a_contender_that_was_out_of_the_race_stays_out_of_what_follows_it(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000, broken=500)
    fake.servers["broken"] = FakeServer(answer=lambda _: b"HTTP/1.1 500 No\r\n\r\n")
    with interrupted_at(fake, 2):
        run_id = fake.conduct(sliced(), latency_s=1.0)
    faults = fake.rows("SELECT name, fault FROM contender")
    fake.resume(run_id, latency_s=1.0)
    assert fake.rows("SELECT name, fault FROM contender") == faults
    assert fake.starts()["broken"] == 1


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (["deadheat", "regress", "--base", "main"], "what was measured is kept"),
        (["deadheat", "run", "--isolate"], " --isolate goes on"),
        (
            ["deadheat", "run", "--runtime=podman", "--base-image", "debian:12"],
            " --runtime=podman --base-image debian:12 goes on",
        ),
    ],
)
def test_bug_the_command_after_an_interrupt_did_not_go_on(
    fake: FakeWorld, command: list[str], end: str
) -> None:
    with interrupted_at(fake, 5):
        fake.conduct(alone(), command=command)
    assert fake.troubles()[-1].endswith(end)


def test_bug_a_word_of_the_users_own_command_was_taken_for_an_option(
    fake: FakeWorld, tmp_path: Path
) -> None:
    command = ["deadheat", "run", "a", "b", "c", "--", "./mine", "--latency", "{port}"]
    run_id = fake.conduct(fixed(), command=command)
    with Store(fake.path) as store:
        plan = plan_of(load_unfinished(store, run_id), load_catalog(tmp_path))
    assert plan.latency_s is None


def test_bug_an_isolated_run_went_on_without_isolation(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as isolated:
        changed = fake.host.fingerprint().model_copy(update={"network": "isolated"})
        isolated.setattr(fake.host, "fingerprint", lambda: changed)
        run_id = cut(fake, 5)
    with pytest.raises(DeadheatError, match="was measured with --isolate") as caught:
        fake.resume(run_id)
    assert caught.value.hint == "give --isolate, or start a new run"
