"""Races on several workloads, in a world without processes and without a sleep."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from deadheat.errors import DeadheatError
from deadheat.events import Board, Progress
from deadheat.host import Sample
from deadheat.host.fake import FakeServer
from deadheat.load import LoadSpec
from deadheat.measure.database import Database
from deadheat.measure.load_process import HANG_UP_S, LoadProcess, open_load
from deadheat.measure.world import World
from deadheat.protocol import SliceProtocol
from deadheat.report.findings.analysis import verdicts_of
from deadheat.report.findings.cautions import cautions
from deadheat.report.model.load import load_view
from deadheat.stats.ranking.decision import Verdict
from deadheat.store import Store
from deadheat.workload import Level
from tests.campaign.fake_world import NOT_FOUND, FakeWorld, greet, name_of, workload_of
from tests.campaign.made_protocols import alone, fixed, sliced

HELLO = {"name": "hello", "about": "The least.", "requests": [{"path": "/"}]}
DEEP = {"name": "deep", "about": "More.", "requests": [{"path": "/deep"}]}
BOTH = [HELLO, DEEP]


SHORT = {"kind": "settle", "invocations": 2, "budget_s": 20}


def protocol(**values: Any) -> SliceProtocol:
    return sliced(**{"workloads": BOTH, **values})


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
    assert fake.conclusion()["why"] == "settled"


@pytest.mark.parametrize("seed", range(4))
def test_bug_a_budget_spent_in_the_first_level_left_a_server_of_another_one_without_a_trial(
    fake: FakeWorld, seed: int
) -> None:
    """Levels come in random order, and `plain` answers hello alone."""

    def spend(name: str, request: dict[str, Any]) -> None:
        if request["duration_s"] > HANG_UP_S:
            fake.host.sleep(100.0)

    fake.before_slice = spend
    fake.conduct(protocol(controls=False, stopping=SHORT), seed=seed)
    assert {trial["name"] for trial in fake.trials()} == {"quick", "deft", "plain"}


CHECKED = DEEP | {"checks": [{"about": "a hole", "path": "/hole", "expect": {"status": 404}}]}


def let_answer_deep_wrong(fake: FakeWorld, name: str) -> None:
    """The server answers every path alike, so it fails the check of `CHECKED`; the others pass."""
    for other in set(fake.servers) - {name}:
        fake.servers[other] = FakeServer(
            answer=lambda request: NOT_FOUND if b"/hole" in request else greet(request)
        )


@pytest.mark.parametrize("made", [sliced, fixed])
def test_a_wrong_answer_leaves_a_server_out_of_that_workload_only(
    fake: FakeWorld, made: Any
) -> None:
    """It was out of the whole run."""
    let_answer_deep_wrong(fake, "deft")
    fake.let_answer("plain", "hello", "deep")
    rule = {"stopping": SHORT} if made is sliced else {}
    run_id = fake.conduct(made(workloads=[HELLO, CHECKED], connections=[10], **rule))
    assert levels(fake, "deft") == {("hello", 10)}
    assert levels(fake, "quick") == levels(fake, "plain") == {("hello", 10), ("deep", 10)}
    reason = "workload deep, a hole: GET /hole: expected status 404, got 200"
    assert fake.troubles() == [f"deft is left out of deep: {reason}"]
    with Store(fake.path, read_only=True) as store:
        hello, deep = load_view(store, run_id).by_workload
    faults = [{c.name: c.fault for c in view.contenders} for view in (hello, deep)]
    assert faults[0] == {"quick": None, "deft": None, "plain": None}
    assert faults[1] == {"quick": None, "deft": f"deft is left out: {reason}", "plain": None}
    assert f"deft is left out: {reason}" in [caution.text for caution in cautions(deep)]


def test_a_race_settles_without_the_workload_that_a_server_answers_wrong(fake: FakeWorld) -> None:
    let_answer_deep_wrong(fake, "deft")
    fake.let_answer("plain", "hello", "deep")
    fake.conduct(protocol(workloads=[HELLO, CHECKED], controls=False))
    assert fake.conclusion()["why"] == "settled"


def test_a_resumed_run_leaves_it_out_again(fake: FakeWorld) -> None:
    let_answer_deep_wrong(fake, "deft")
    fake.let_answer("plain", "hello", "deep")
    fake.noise = 0.2  # keeps the run from being settled
    with fake.interrupted(lambda *_: len(fake.slices) == 60):
        run_id = fake.conduct(protocol(workloads=[HELLO, CHECKED], controls=False))
    before = len(fake.trials())
    fake.events.clear()
    fake.resume(run_id)
    assert len(fake.trials()) > before
    assert levels(fake, "deft") == {("hello", 10)}
    assert fake.troubles() == []


def test_a_server_that_answers_hello_wrong_is_out_of_the_run(fake: FakeWorld) -> None:
    fake.servers["deft"] = FakeServer(answer=lambda _: NOT_FOUND)
    fake.conduct(protocol(stopping=SHORT))
    assert levels(fake, "deft") == set()


def test_a_server_that_answers_each_workload_wrong_is_out_of_the_run(fake: FakeWorld) -> None:
    let_answer_deep_wrong(fake, "deft")
    fake.let_answer("plain", "hello", "deep")
    fake.conduct(protocol(workloads=[CHECKED], stopping=SHORT))
    assert levels(fake, "deft") == set()
    (trouble,) = [text for text in fake.troubles() if text.startswith("deft")]
    assert trouble.startswith("deft is not measured: workload deep, a hole")


def test_a_load_that_the_engine_refuses_leaves_a_server_out_of_that_workload_only(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine refuses a server that spells one answer in two ways."""

    def open_right(world: World, spec: LoadSpec) -> LoadProcess:
        port = urlsplit(spec.url).port or 0
        names = {
            name_of(process.spec)
            for process in fake.host.processes.values()
            if process.exited is None and process.listens_on(port)
        }
        if "deft" in names and spec.workload and spec.workload["name"] == "deep":
            raise DeadheatError("the answers differ")
        return open_load(world, spec)

    monkeypatch.setattr("deadheat.measure.starter.open_load", open_right)
    fake.conduct(protocol(connections=[1, 10], stopping=SHORT))
    assert levels(fake, "deft") == {("hello", 1), ("hello", 10)}
    assert fake.troubles() == ["deft is left out of deep: the answers differ"]
    (fault,) = fake.rows("SELECT behavior FROM instance WHERE behavior LIKE '%workload_faults%'")
    assert json.loads(fault["behavior"])["workload_faults"] == {"deep": "the answers differ"}
    assert fake.left_running() == []


def with_database(fake: FakeWorld, folder: Path) -> Database:
    """A database in the world; its programs do nothing and succeed."""
    fake.servers["made/postgres"] = FakeServer(answer=lambda _: b"")
    database = Database(fake.host, folder, (0,), folder)
    fake.world = replace(fake.world, database=database)
    return database


STORED = DEEP | {"database": {"engine": "postgresql", "seed": "SELECT 1"}}


def test_a_server_of_several_workloads_gets_the_database_of_one(
    fake: FakeWorld, tmp_path: Path
) -> None:
    """Bug: it got the environment of the first workload, so hello,db had no DATABASE_URL."""
    database = with_database(fake, tmp_path)
    fake.conduct(protocol(workloads=[HELLO, STORED], stopping=SHORT))
    env = {name_of(spec): spec.env for call, spec in fake.host.calls if call == "start"}
    assert env["deft"]["DATABASE_URL"].endswith("/deep")
    assert "DATABASE_URL" not in {*env["plain"], *env["null-server"]}
    timed = {
        (row["name"], row["workload"])
        for row in fake.trials()
        if "database_cpu_us_per_request" in json.loads(row["result"])
    }
    assert timed == {("quick", "deep"), ("deft", "deep")}
    assert database.process is not None


def test_a_database_that_dies_ends_the_trials_that_use_it_and_no_others(
    fake: FakeWorld, tmp_path: Path
) -> None:
    database = with_database(fake, tmp_path)

    def kill(name: str, _: dict[str, Any]) -> None:
        """During slices of both workloads; between them it is started again."""
        of_deft = [loaded for loaded, _ in fake.slices].count("deft")
        if name == "deft" and 16 <= of_deft < 28:
            fake.host.stop(database.process or "", "SIGKILL", 0)

    fake.before_slice = kill
    fake.noise = 0.2
    run_id = fake.conduct(protocol(workloads=[HELLO, STORED], controls=False))
    failed = [row for row in fake.trials() if row["state"] == "failed"]
    assert failed
    assert {row["workload"] for row in failed} == {"deep"}
    assert all("PostgreSQL died" in row["reason"] for row in failed)
    assert [text for text in fake.troubles() if " is out" in text] == []
    with Store(fake.path, read_only=True) as store:
        assert load_view(store, run_id).state == "complete"
    last = fake.trials()[-1]
    assert (last["state"], fake.left_running()) == ("ok", ["made/postgres"])


@pytest.mark.parametrize(
    ("made", "workloads", "fault"),
    [
        (sliced, [STORED, STORED | {"name": "wide"}], "one with a database.* got deep, wide"),
        (sliced, [DEEP, DEEP], "expected different names, got deep, deep"),
        (alone, BOTH, "workloads"),  # several need a race
    ],
)
def test_rejects_workloads_that_cannot_race(
    made: Any, workloads: list[dict[str, Any]], fault: str
) -> None:
    with pytest.raises(ValidationError, match=fault):
        made(workloads=workloads)


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


@pytest.mark.parametrize("made", [sliced, fixed])
def test_each_workload_is_warmed_up(fake: FakeWorld, made: Any) -> None:
    warmup = {"kind": "fixed", "duration_s": 0.5}
    rule = {"stopping": SHORT} if made is sliced else {}
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
    assert "starting deft, instance 1: warming up on deep" in [
        event.what for event in fake.events if isinstance(event, Progress)
    ]


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


def test_an_extension_keeps_the_verdicts_of_each_workload(fake: FakeWorld) -> None:
    fake.noise = 0.9
    fake.rates_on = {("quick", "deep"): 890, ("deft", "deep"): 900}
    run_id = fake.conduct(protocol(controls=False, stopping={**SHORT, "margin": 0.001}))
    with Store(fake.path) as store:
        levels = list(verdicts_of(load_view(store, run_id)))
    decided = {level: {("quick", "deft"): Verdict.SEPARATED} for level in levels}
    fake.resume(run_id, lambda left: left.extended(10, decided))
    stored = fake.conclusion()
    kept = {(pair["workload"], pair["connections"]) for pair in stored["decided"]}
    assert kept == {(level.workload, level.connections) for level in levels}
    assert len(kept) > 1


def test_latency_is_measured_on_each_workload(fake: FakeWorld) -> None:
    fake.conduct(fixed(workloads=BOTH, connections=[10]), latency_s=1.0)
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
