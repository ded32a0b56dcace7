"""Races on several workloads, in a world without processes and without a sleep."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from deadheat.cli.resume import verdicts_of
from deadheat.events import Board, Progress
from deadheat.host import Sample
from deadheat.protocol import Protocol
from deadheat.report.model.load import load_view
from deadheat.store import Store
from deadheat.workload import Level
from tests.campaign.fake_world import FakeWorld, workload_of
from tests.campaign.test_race import protocol as trials_protocol
from tests.campaign.test_slice_race import protocol as slices_protocol

HELLO = {"name": "hello", "about": "The least.", "requests": [{"path": "/"}]}
DEEP = {"name": "deep", "about": "More.", "requests": [{"path": "/deep"}]}
BOTH = [HELLO, DEEP]


SHORT = {"kind": "settle", "invocations": 2, "budget_s": 20}


def protocol(**values: Any) -> Protocol:
    return slices_protocol(**{"workloads": BOTH, **values})


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    """`quick` is ahead on hello, `deft` on deep; `plain` answers hello alone."""
    fake = FakeWorld(tmp_path, quick=3000, deft=2000, plain=1000)
    for name in ("quick", "deft"):
        fake.let_answer(name, "hello", "deep")
    fake.rates_on = {("quick", "deep"): 500, ("deft", "deep"): 900}
    return fake


def levels(fake: FakeWorld, name: str) -> set[tuple[str, int]]:
    trials = fake.trials()
    return {(row["workload"], row["connections"]) for row in trials if row["name"] == name}


def test_a_level_is_a_workload_and_a_number_of_connections(fake: FakeWorld) -> None:
    fake.conduct(protocol(connections=[1, 10], controls=False, stopping=SHORT))
    assert levels(fake, "quick") == {(w, c) for w in ("hello", "deep") for c in (1, 10)}


def test_a_server_races_on_the_workloads_that_it_answers(fake: FakeWorld) -> None:
    run_id = fake.conduct(protocol(controls=False))
    assert levels(fake, "plain") == {("hello", 10)}
    assert levels(fake, "deft") == {("hello", 10), ("deep", 10)}
    with Store(fake.path, read_only=True) as store:
        verdicts = verdicts_of(load_view(store, run_id))
    assert ("quick", "deft") in verdicts[Level("hello", 10)]
    assert list(verdicts[Level("deep", 10)]) == [("deft", "quick")]
    assert json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])["why"] == "settled"


def test_controls_are_loaded_with_hello_at_every_level(fake: FakeWorld) -> None:
    fake.conduct(protocol())
    assert levels(fake, "reference") == {("hello", 10), ("deep", 10)}
    of_controls = [
        spec
        for call, spec in fake.host.calls
        if call == "converse" and "--workload" not in spec.command
    ]
    assert {workload_of(spec) for spec in of_controls} == {"hello"}
    rates = [row["rate_per_s"] for row in fake.trials() if row["name"] == "reference"]
    assert min(rates) > 1000


@pytest.mark.parametrize("made", [slices_protocol, trials_protocol])
def test_each_workload_is_warmed_up(fake: FakeWorld, made: Any) -> None:
    warmup = {"kind": "fixed", "duration_s": 0.5}
    rule = {"stopping": SHORT} if made is slices_protocol else {}
    fake.conduct(made(workloads=BOTH, controls=False, connections=[10], warmup=warmup, **rule))
    stored = fake.rows(
        "SELECT name, steady FROM contender JOIN instance ON contender_id = contender.id"
    )
    later = {row["name"]: json.loads(row["steady"]).get("later", {}) for row in stored}
    assert {name: list(warmed) for name, warmed in later.items()} == {
        "quick": ["deep"],
        "deft": ["deep"],
        "plain": [],
    }
    assert later["deft"]["deep"]["rate_per_s"] == pytest.approx(900, rel=0.1)
    assert "start 1 of deft: warming up on deep" in [
        event.what for event in fake.events if isinstance(event, Progress)
    ]


def test_trials_of_wrk_like_protocols_have_their_workload(fake: FakeWorld) -> None:
    fake.conduct(trials_protocol(workloads=BOTH, connections=[10], controls=True))
    assert levels(fake, "quick") == {("hello", 10), ("deep", 10)}
    sent = {(name, workload_of(spec)) for name, spec in fake.loads}
    assert ("quick", "deep") in sent
    assert not {("plain", "deep"), ("reference", "deep")} & sent


def test_bug_the_cpu_time_of_a_trial_was_that_of_every_level(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU time of a whole block was divided by the requests of one of its levels."""
    burnt: list[tuple[float, float]] = []  # when, and seconds of CPU time

    def burn(name: str, request: dict[str, Any]) -> None:
        if name == "quick":
            burnt.append((fake.host.now_s(), request["duration_s"]))

    sample = fake.host.sample

    def busy(at_s: float, processes: Sequence[str]) -> Sample:
        taken = sample(at_s, processes)
        cpu_s = sum(seconds for begun_s, seconds in burnt if begun_s < at_s)
        usage = {name: replace(value, cpu_s=cpu_s) for name, value in taken.usage.items()}
        return replace(taken, usage=usage)

    monkeypatch.setattr(fake.host, "sample", busy)
    fake.before_slice = burn
    fake.conduct(protocol(controls=False))
    used = [
        row["server_cpu_us_per_request"] / 1e6 * requests_in_all(row) / row["elapsed_s"]
        for row in fake.trials()
        if row["name"] == "quick"
    ]
    assert used == [pytest.approx(1.0)] * len(used) != []


def requests_in_all(trial: dict[str, Any]) -> int:
    return int(json.loads(trial["result"])["requests_sent_in_all"])


def test_a_resumed_run_keeps_its_workloads(fake: FakeWorld) -> None:
    def interrupt(_: str, __: dict[str, Any]) -> None:
        if len(fake.slices) == 60:
            raise KeyboardInterrupt

    fake.noise = 0.2
    fake.before_slice = interrupt
    run_id = fake.conduct(protocol(controls=False))
    before = len(fake.trials())
    fake.before_slice = lambda _, __: None
    fake.resume(run_id)
    assert len(fake.trials()) > before
    assert levels(fake, "plain") == {("hello", 10)}


def test_an_extension_keeps_the_verdicts_of_each_workload(fake: FakeWorld) -> None:
    fake.noise = 0.9
    fake.rates_on = {("quick", "deep"): 890, ("deft", "deep"): 900}
    run_id = fake.conduct(protocol(controls=False, stopping={**SHORT, "margin": 0.001}))
    with Store(fake.path) as store:
        decided = verdicts_of(load_view(store, run_id))
    fake.resume(run_id, lambda left: left.extended(10, decided))
    stored = json.loads(fake.rows("SELECT conclusion FROM run")[0]["conclusion"])
    assert set(stored["decided"]) == {level.key for level in decided}


def test_latency_is_measured_on_each_workload(fake: FakeWorld) -> None:
    fake.conduct(trials_protocol(workloads=BOTH, connections=[10]), latency_s=1.0)
    offered = {
        (row["name"], row["workload"], round(row["offered_rate_per_s"] / 100))
        for row in fake.trials()
        if row["kind"] == "latency"
    }
    assert {key for key in offered if key[0] == "deft"} >= {
        ("deft", "hello", 10),
        ("deft", "deep", 8),
    }
    assert not [key for key in offered if key[:2] == ("plain", "deep")]


def test_the_board_names_the_workload_of_its_rates(fake: FakeWorld) -> None:
    fake.conduct(protocol(stopping=SHORT))
    assert {event.workload for event in fake.events if isinstance(event, Board)} == {"hello"}
    fake.events.clear()
    fake.conduct(protocol(workloads=[], stopping=SHORT))
    assert {event.workload for event in fake.events if isinstance(event, Board)} == {None}


def test_several_workloads_need_a_race() -> None:
    with pytest.raises(ValidationError, match="several need residency = 'frozen'"):
        protocol(residency="alone", slices=None, stopping={"kind": "fixed"})


def test_workloads_have_different_names() -> None:
    with pytest.raises(ValidationError, match="expected different names, got deep, deep"):
        protocol(workloads=[DEEP, DEEP])


def test_reads_a_protocol_that_was_stored_with_one_workload() -> None:
    values = protocol().model_dump()
    del values["workloads"]
    assert Protocol.model_validate({**values, "workload": None}).workload_names == ("hello",)
    assert Protocol.model_validate({**values, "workload": DEEP}).workload_names == ("deep",)
