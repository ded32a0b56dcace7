"""Reading runs: `StoredRun` has what was written, in few queries; and queries over many runs."""

import datetime
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.errors import StoreError
from deadheat.host.fake import FINGERPRINT
from deadheat.stats.ranking.decision import Verdict
from deadheat.store import (
    Conclusion,
    Gate,
    ImportedFrom,
    Resumption,
    Store,
    StoredRun,
    TrialPlace,
    TrialRecord,
    Writer,
    read_run,
)
from deadheat.store.json_columns import Behavior, DecidedPair
from deadheat.store.listing import (
    contender_names,
    latest_run_of,
    run_ids,
    run_summaries,
    run_summary,
    runs_under_way,
    valid_rates,
)
from deadheat.store.reading import trial_series
from deadheat.store.rows import StoredBuild, StoredHost, TrialOutput
from tests.store.made import SMALL, begin, trial

FAILED = Gate("steal", False, 0.04, 0.01, "share", "stop other programs")
MOMENT = datetime.datetime(2026, 11, 20, 12, 30, tzinfo=datetime.UTC)
OTHER = FINGERPRINT.model_copy(update={"kernel": "6.2"})
LATE = Gate("late", False, None, None, None, "none")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


@pytest.fixture
def written(store: Store) -> list[TrialRecord]:
    """Three trials of the second run of a store."""
    other_id, other_contender = begin(store)
    store.add_trial(trial(other_id, other_contender))
    run_id, contender_id = begin(store)
    store.add_host(run_id, "server", [0, 1], FINGERPRINT)
    store.add_host(run_id, "load", [2], OTHER)
    build_id = store.add_build(
        server="plain",
        key="abc",
        built_at="2026-11-20T12:00:00+00:00",
        elapsed_s=1.5,
        toolchains={"gcc": "14"},
        files={"main.c": "00ff"},
        log="cc main.c",
    )
    store.update_contender(contender_id, build_id=build_id)
    store.add_instance(
        contender_id=contender_id,
        invocation=1,
        at_s=0.5,
        command=["plain"],
        behavior={"status": 200},
    )
    records = [trial(run_id, contender_id, block) for block in (1, 2, 3)]
    records[1] = TrialRecord.at(
        TrialPlace(run_id, contender_id, None, "measure", 1, 2, 1, 2.0),
        connections=10,
        command=["other"],
        state="ok",
        gates=[FAILED, LATE],
    )
    for record in records:
        store.add_trial(record)
    return records


@pytest.fixture
def run(store: Store, written: list[TrialRecord]) -> StoredRun:
    return read_run(store, written[0].run_id)


def test_reads_the_row_and_all_that_belongs_to_the_run(run: StoredRun) -> None:
    assert (run.state, run.seed, run.protocol, run.conclusion) == (
        "running",
        1,
        SMALL,
        Conclusion(),
    )
    assert run.started_at.tzinfo == datetime.UTC
    assert run.hosts == (StoredHost("server", (0, 1), FINGERPRINT), StoredHost("load", (2,), OTHER))
    (contender,) = run.contenders
    assert (contender.name, contender.manifest) == ("plain", {"name": "plain"})
    assert contender.build_key == "abc"
    assert run.builds[contender.build_id or 0] == StoredBuild(
        "abc", "2026-11-20T12:00:00+00:00", 1.5, {"gcc": "14"}, {"main.c": "00ff"}, "cc main.c"
    )
    (instance,) = run.instances
    assert (instance.command, instance.steady) == (("plain",), None)
    assert instance.behavior == Behavior(status=200)


def test_reads_trials_as_they_were_written(run: StoredRun, written: list[TrialRecord]) -> None:
    assert len(run.trials) == len(written)
    for stored, record in zip(run.trials, written, strict=True):
        for name in {*stored._fields} - {"id", "command_json", "result_json"}:
            assert getattr(stored, name) == getattr(record, name)
        assert (stored.command, stored.result) == (tuple(record.command), record.figures)
        assert run.outputs([stored.id]) == {stored.id: TrialOutput(record.stdout, record.stderr)}


def test_finds_the_parts_of_a_trial_by_its_id(run: StoredRun, store: Store) -> None:
    first, second, third = (stored.id for stored in run.trials)
    assert run.gates_failed == {second: (LATE, FAILED)}
    assert run.gate_codes == ("late", "little", "steal")
    assert run.errors == {first: {"reset": 3}, third: {"reset": 3}}
    assert run.histograms("service_us", [third, second, first]) == ["HISTFAAA", "HISTFAAA"]
    assert run.histograms("service_us", [second]) == run.histograms("none", [first]) == []
    series = {"load": [{"at_s": 0.1, "ok": 100}], "machine": []}
    assert dict(run.series("load", "machine")) == {first: series, third: series}
    assert trial_series(store, first, "load") == series["load"]
    assert trial_series(store, second, "load") == []


def test_finds_the_newest_calibration_of_a_machine(run: StoredRun, store: Store) -> None:
    for key, pairs in (("here", 1), ("here", 2), ("elsewhere", 3)):
        store.add_calibration(key, FINGERPRINT, {"pairs": pairs})
    calibration = run.calibration("here")
    assert calibration is not None
    assert calibration.result.as_stored() == {"pairs": 2}
    assert run.calibration("nowhere") is None


def test_rejects_an_unknown_run(store: Store) -> None:
    with pytest.raises(StoreError, match="has no run nothing"):
        read_run(store, "nothing")


def test_a_protocol_without_a_key_names_the_key(store: Store, written: list[TrialRecord]) -> None:
    """Regression: the error was pydantic's own, without a hint."""
    run_id = written[0].run_id
    with store._commit() as connection:
        connection.execute("UPDATE run SET protocol = json_remove(protocol, '$.connections')")
    with pytest.raises(StoreError) as caught:
        read_run(store, run_id)
    assert str(caught.value) == f"run {run_id}: protocol cannot be read: connections: missing"
    assert caught.value.hint is not None
    assert "another version of deadheat" in caught.value.hint


def test_a_conclusion_comes_back_as_it_was_written(
    store: Store, written: list[TrialRecord]
) -> None:
    run_id = written[0].run_id
    conclusion = Conclusion(
        why="budget spent",
        share=0.4,
        look=2,
        resumed=(Resumption(at=MOMENT, trials=3, paused_s=9.5, more_s=60, until_s=90, share=0.1),),
        decided=(
            DecidedPair(
                workload="hello", connections=10, faster="a", slower="b", verdict=Verdict.SEPARATED
            ),
        ),
        imported=ImportedFrom(at="2026-11-22", bundle="x.deadheat"),
    )
    store.end_run(run_id, "complete", conclusion)
    read = read_run(store, run_id).conclusion
    assert read == conclusion
    assert read.decided_at("hello", 10) == {("a", "b"): Verdict.SEPARATED}
    assert read.decided_at("hello", 20) == {}


def test_queries_do_not_grow_with_the_run(
    store: Store, written: list[TrialRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    select = Store.select

    def counting(store: Store, query: str, *values: object) -> list[sqlite3.Row]:
        queries.append(query)
        return select(store, query, *values)

    monkeypatch.setattr(Store, "select", counting)

    def read_all() -> int:
        queries.clear()
        run = read_run(store, written[0].run_id)
        run.histograms("service_us", [trial.id for trial in run.trials])
        run.outputs([stored.id for stored in run.trials])
        assert all((run.gates_failed, run.gate_codes, run.errors, run.builds))
        assert list(run.series("load"))
        return len(queries)

    before = read_all()
    for block in range(10, 30):
        store.add_trial(trial(written[0].run_id, written[0].contender_id, block))
    assert read_all() == before


def test_lists_the_newest_run_first(store: Store) -> None:
    ids = [begin(store)[0] for _ in range(3)]
    assert run_ids(store) == [summary.run_id for summary in run_summaries(store)] == ids[::-1]


def test_summary_counts_trials_and_contenders_without_controls(store: Store) -> None:
    run_id, contender_id = begin(store)
    control = {"run_id": run_id, "position": 1, "name": "null-server", "server": "null-server"}
    more = {"setting": "default", "role": "control", "workers": 1, "threads": 1, "manifest": {}}
    store.add_contender(**control, **more)
    for block in (1, 2):
        store.add_trial(trial(run_id, contender_id, block))
    summary = run_summary(store, run_id)
    assert (summary.protocol, summary.contenders, summary.trials) == ("small", 1, 2)
    assert contender_names(store)[run_id] == ["plain"]
    with pytest.raises(StoreError, match="has no run nothing"):
        run_summary(store, "nothing")


def test_only_a_run_whose_process_lives_is_under_way(store: Store) -> None:
    first, second, third = (begin(store)[0] for _ in range(3))
    store.end_run(first, "complete", Conclusion())
    here = Writer.this_process()
    gone = replace(here, start_ticks=here.start_ticks + 1)
    with store._commit() as connection:
        connection.execute(
            "UPDATE run SET writer = json_replace(writer, '$.start_ticks', ?) WHERE id = ?",
            (gone.start_ticks, second),
        )
    assert runs_under_way(store) == [third]
    assert run_summary(store, second).state == "lost"


def test_latest_run_of_a_protocol_has_a_trial(store: Store) -> None:
    run_id, contender_id = begin(store)
    store.add_trial(trial(run_id, contender_id))
    begin(store)
    assert latest_run_of(store, "small") == run_id
    assert latest_run_of(store, "large") is None


def test_rates_are_those_of_valid_trials(store: Store) -> None:
    run_id, contender_id = begin(store)
    failed = Gate("steal", False, 0.04, 0.01, "share", "stop other programs")
    measured = trial(run_id, contender_id)
    for record in (
        measured,
        replace(measured, rate_per_s=900.0, connections=5),
        replace(measured, kind="latency"),
        replace(measured, state="failed"),
        replace(measured, gates=[failed]),
    ):
        store.add_trial(record)
    rates = [(rate.connections, rate.rate_per_s) for rate in valid_rates(store, "plain")]
    assert rates == [(5, 900.0), (10, 1000.0)]
    assert valid_rates(store, "other") == []
