"""Listing stored runs, and finding the one that is meant."""

from pathlib import Path

import pytest

from deadheat.report.runs import find_run, list_runs
from deadheat.store import Store, StoreError
from tests.report.made import made_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two runs of known ids: the newer one has not ended."""
    store = Store(tmp_path / "runs.sqlite")
    for run_id, started in (
        ("20261119-080000-aaaa", "2026-11-19T08:00:00+00:00"),
        ("20261120-090000-bbbb", "2026-11-20T09:00:00+00:00"),
    ):
        store._insert(
            "run",
            id=run_id,
            started_at=started,
            state="running",
            protocol='{"name": "quick"}',
            command="[]",
            seed=1,
            deadheat_version="0",
            generator_version="0",
        )
    return store


def test_the_last_run_is_the_default(store: Store) -> None:
    assert find_run(store, None) == "20261120-090000-bbbb"


@pytest.mark.parametrize("wanted", ["20261119", "20261119-080000-aaaa"])
def test_a_run_is_found_by_what_its_id_alone_begins_with(store: Store, wanted: str) -> None:
    assert find_run(store, wanted) == "20261119-080000-aaaa"


def test_an_ambiguous_prefix_names_the_runs(store: Store) -> None:
    with pytest.raises(StoreError, match="2 runs begin so: 20261120-090000-bbbb"):
        find_run(store, "202611")


def test_an_unknown_id_names_the_nearest(store: Store) -> None:
    with pytest.raises(StoreError, match="no stored run") as caught:
        find_run(store, "20261119-080000-aaab")
    assert caught.value.hint is not None
    assert "20261119-080000-aaaa" in caught.value.hint


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.sqlite") as store:
        for ask in (lambda: find_run(store, None), lambda: list_runs(store)):
            with pytest.raises(StoreError, match="no run yet"):
                ask()


def test_a_line_tells_one_run_from_another(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("null-server", role="canary")
    run.race({"a": 9000, "b": 6000}, invocations=1, blocks=2)
    run.end()
    (listed,) = list_runs(run.store)
    assert (listed.state, listed.protocol, listed.contenders, listed.trials) == (
        "complete",
        "settle",
        2,
        4,
    )
    assert listed.ended_at is not None
