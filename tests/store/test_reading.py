"""Reading runs: each value is checked once and read in few queries; and queries over many runs."""

import datetime
import json
import math
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.errors import StoreError
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
from deadheat.store.slices import (
    PackedSlices,
    StoredSlice,
    TrialSlices,
    columns_of,
    slices_json,
    slices_of_json,
)
from tests.report.made import FINGERPRINT, SETTLE, made_protocol
from tests.store.made import begin, trial

FAILED = Gate("steal", False, 0.04, 0.01, "share", "stop other programs")
MOMENT = datetime.datetime(2026, 11, 20, 12, 30, tzinfo=datetime.UTC)
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
    instance_id = store.add_instance(
        contender_id=contender_id, invocation=1, at_s=0.5, command=["plain"]
    )
    store.update_instance(instance_id, behavior={"status": 200})
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
    assert (run.state, run.seed, run.conclusion) == ("running", 7, Conclusion())
    assert run.protocol == made_protocol(SETTLE)
    assert run.started_at.tzinfo == datetime.UTC
    assert run.hosts == (
        StoredHost("server", (0,), FINGERPRINT),
        StoredHost("load", (1,), FINGERPRINT.model_copy(update={"kernel": "6.2"})),
    )
    (contender,) = run.contenders
    assert (contender.name, contender.manifest.as_stored()) == ("plain", {"name": "plain"})
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
    run = read_run(store, run_id)
    assert run.state == "complete"
    assert run.ended_at is not None
    assert run.started_at <= run.ended_at
    read = run.conclusion
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
    assert (summary.protocol, summary.contenders, summary.trials) == ("settle", 1, 2)
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
    assert latest_run_of(store, "settle") == run_id
    assert latest_run_of(store, "quick") is None


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


WHOLE: dict[str, Any] = {
    "at_s": 1.5,
    "round": 3,
    "rate_per_s": 9000.0,
    "requests_ok": 720,
    "elapsed_s": 0.08,
    "window_s": 0.09,
}


def test_a_slice_is_read_as_it_was_stored() -> None:
    slices = (
        StoredSlice(**WHOLE),
        StoredSlice(**WHOLE, paused_s=0.01, longest_pause_us=10_000.0, client_waited=True),
        StoredSlice(at_s=2.0, round=4, witness_per_s=8990.0),
    )
    assert slices_of_json(slices_json(slices)) == slices


def test_unknown_figures_are_left_out_and_a_zero_is_not() -> None:
    silent = StoredSlice(at_s=1.0, round=1, rate_per_s=0.0, requests_ok=0, window_s=0.08)
    assert json.loads(slices_json([silent])) == [
        {"at_s": 1.0, "round": 1, "rate_per_s": 0.0, "requests_ok": 0, "window_s": 0.08}
    ]


def test_figures_that_this_version_does_not_know_are_skipped() -> None:
    (read,) = slices_of_json(json.dumps([{**WHOLE, "memory_ns": [80.0, 81.5]}]).encode())
    assert read == StoredSlice(**WHOLE)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([{"round": 1}], "0.at_s"),
        ([{**WHOLE, "rate_per_s": "9000"}], "0.rate_per_s"),
        ([WHOLE, {**WHOLE, "requests_ok": 1.5}], "1.requests_ok"),
        ([{**WHOLE, "window_s": math.inf}], "0.window_s"),
        ([{**WHOLE, "at_s": math.nan}], "0.at_s"),
        ([7], "0"),
    ],
)
def test_a_wrong_figure_names_its_slice_and_its_key(rows: list[Any], fault: str) -> None:
    packed = PackedSlices(
        zlib.compress(json.dumps(rows).encode()), "r1", "series slices of trial 4"
    )
    with pytest.raises(StoreError, match=f"run r1: series slices of trial 4 .*: {fault}"):
        len(packed)


@pytest.mark.parametrize(
    ("figures", "counts"),
    [
        ({}, True),
        ({"rate_per_s": 0.0, "requests_ok": 0}, True),
        ({"rate_per_s": 0.0, "requests_ok": 0, "window_s": None}, False),
        ({"rate_per_s": None}, False),
        ({"client_waited": True}, False),
    ],
)
def test_a_slice_counts_if_its_rate_is_the_servers(figures: dict[str, Any], counts: bool) -> None:
    each = StoredSlice(**WHOLE | figures)
    assert each.counts == counts
    assert len(columns_of(["a"], [TrialSlices(0, 1, 1, [each])])) == counts


def test_columns_have_the_slices_of_all_trials_in_their_order() -> None:
    first, second = StoredSlice(**WHOLE), StoredSlice(**WHOLE | {"at_s": 2.0, "paused_s": 0.01})
    failed = StoredSlice(at_s=3.0, round=4)
    columns = columns_of(
        ["a", "b"], [TrialSlices(1, 7, 1, [first, failed]), TrialSlices(0, 8, 2, [second])]
    )
    assert columns.contender.tolist() == [1, 0]
    assert columns.instance.tolist() == [7, 8]
    assert columns.at_s.tolist() == [1.5, 2.0]
    assert columns.paused_s.tolist() == [0.0, 0.01]
    assert columns.weight.tolist() == [8000.0, 8000.0]
    assert all(map(math.isnan, columns.witness_per_s))
