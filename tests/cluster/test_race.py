"""A cluster run on hosts that do not exist: its record, its bundles, its combined result.

The bundles are two stored races of the same 24 servers, as if each pair of hosts had done one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deadheat.cluster.race import ClusterRace, Ending
from deadheat.cluster.result import ClusterRecord, HostPair, combine, document, read_record, text
from deadheat.errors import DeadheatError
from deadheat.events import silent
from tests.cluster.fake_cluster import QUIET, End, FakeCluster, planned

RESULTS = Path(__file__).parents[2] / "docs" / "results"
BUNDLES = [(RESULTS / f"race-24-{name}.deadheat").read_bytes() for name in "ab"]
LOST = "its load host died"


def race(folder: Path, end: End) -> tuple[FakeCluster, ClusterRace]:
    """A race on two pairs of hosts."""
    cluster = FakeCluster(2, end)
    plan = planned(
        servers=("go-gin", "node-http", "a", "b", "c", "d"),
        shared=("go-gin", "node-http"),
        words=("--budget", "60s"),
        pairs=cluster.pairs,
    )
    return cluster, ClusterRace(plan, cluster, folder, silent)


def complete(pair: HostPair, words: Sequence[str]) -> Ending:
    return Ending(pair, 0, BUNDLES[pair.number % 2], ray_cpu=QUIET)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ClusterRecord]:
    folder = tmp_path_factory.mktemp("cluster")
    _, it = race(folder, complete)
    return folder, it.run()


def test_shared_contenders_run_on_every_pair_and_the_others_once(tmp_path: Path) -> None:
    cluster, it = race(tmp_path, complete)
    it.run()
    assert [(pair, words[:2]) for pair, words in cluster.started] == [
        (1, ["a", "c"]),
        (2, ["b", "d"]),
    ]
    for _, words in cluster.started:
        assert words[2:] == ["go-gin", "node-http", "--budget", "60s"]


def test_the_record_in_the_folder_is_the_one_that_was_returned(
    finished: tuple[Path, ClusterRecord],
) -> None:
    folder, record = finished
    assert read_record(folder) == record
    assert record.state == "complete"
    assert all((folder / str(run.bundle)).exists() for run in record.runs)


def test_combines_the_pairs_with_their_speeds(finished: tuple[Path, ClusterRecord]) -> None:
    combined = combine(*finished)
    (level,) = combined.levels
    assert [*level.speeds] == [1, 2]
    assert level.interaction_degrees == 20  # 21 servers are ranked in both races
    first, second = level.ranking.rows[0], level.ranking.rows[-1]
    assert level.pairs_of[first.name] == (1, 2)
    assert level.ranking.pair(first.name, second.name).verdict.value == "separated"
    shown = text(combined)
    assert "on every pair: go-gin, node-http, and the controls" in shown
    assert "server 0.20 %, load 0.30 %" in shown
    parts: Any = document(combined)
    assert parts["levels"][0]["speeds"]["2"]["low"] > 0.5
    assert len(parts["levels"][0]["ranking"]) == len(level.ranking.rows)


def test_a_host_that_dies_returns_its_contenders_to_another_pair(tmp_path: Path) -> None:
    def end(pair: HostPair, words: Sequence[str]) -> Ending:
        return Ending(pair, lost=LOST) if pair.number == 1 else complete(pair, words)

    cluster, it = race(tmp_path, end)
    record = it.run()
    assert [(pair, words[:2]) for pair, words in cluster.started[1:]] == [
        (2, ["b", "d"]),
        (2, ["a", "c"]),
    ]
    assert [run.attempt for run in record.runs] == [1, 1, 2]
    assert record.pairs[0].lost == LOST
    assert record.state == "complete"
    assert record.given_up == ()


def test_what_a_dead_host_measured_stays(tmp_path: Path) -> None:
    """Its server host died during the run: its bundle is there, and contenders in it stay."""

    def end(pair: HostPair, words: Sequence[str]) -> Ending:
        if pair.number == 1:
            return Ending(pair, 1, BUNDLES[0], "the connection was lost", QUIET, "it died")
        return complete(pair, words)

    cluster, it = race(tmp_path, end)
    it.run()
    assert sorted(cluster.started[2][1][:2]) == ["a", "c"]  # these are not in the bundle
    assert (tmp_path / "0001-pair-1.deadheat").read_bytes() == BUNDLES[0]


def test_a_run_during_which_ray_was_busy_is_kept_and_not_ranked(tmp_path: Path) -> None:
    def end(pair: HostPair, words: Sequence[str]) -> Ending:
        ray_cpu = QUIET if pair.number == 2 else {"both": 0.2}
        return Ending(pair, 0, BUNDLES[0], ray_cpu=ray_cpu)

    _, it = race(tmp_path, end)
    combined = combine(tmp_path, it.run())
    assert [*combined.levels[0].speeds] == [2]
    assert "run 1 is not ranked: Ray used more than 1.0 % of a host's CPUs" in text(combined)


def test_hosts_that_measure_nothing_end_the_race_with_their_error(tmp_path: Path) -> None:
    def end(pair: HostPair, words: Sequence[str]) -> Ending:
        return Ending(pair, 1, None, "no go here", QUIET)

    _, it = race(tmp_path, end)
    with pytest.raises(DeadheatError, match="no go here"):
        it.run()
    assert read_record(tmp_path).state == "failed"


def test_an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    def end(pair: HostPair, words: Sequence[str]) -> Ending:
        if pair.number == 2:
            raise KeyboardInterrupt
        return complete(pair, words)

    _, it = race(tmp_path, end)
    record = it.run()
    assert record.state == "interrupted"
    assert {*record.given_up} >= {"b", "d"}
    assert combine(tmp_path, record).levels


@pytest.mark.parametrize(
    ("content", "symptom"),
    [(None, "No such file"), ("{}", "Field required"), ("nonsense", "Invalid JSON")],
)
def test_a_folder_without_a_readable_record_is_an_error(
    tmp_path: Path, content: str | None, symptom: str
) -> None:
    if content is not None:
        (tmp_path / "cluster.json").write_text(content)
    with pytest.raises(DeadheatError, match=symptom):
        read_record(tmp_path)
