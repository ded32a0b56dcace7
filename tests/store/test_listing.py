"""Queries over many runs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.errors import StoreError
from deadheat.store import Conclusion, Gate, Store, Writer
from deadheat.store.listing import (
    contender_names,
    latest_run_of,
    run_ids,
    run_summaries,
    run_summary,
    runs_under_way,
    valid_rates,
)
from tests.store.made import begin, trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


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
