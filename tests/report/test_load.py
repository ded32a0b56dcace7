"""Reading a run out of the store."""

from pathlib import Path

import pytest

from deadheat.errors import StoreError
from deadheat.host.doctor import host_key
from deadheat.report.model import evidence as published
from deadheat.report.model.load import load_view
from deadheat.store import Store
from deadheat.store.json_columns import StoredClaim
from tests.report.made import FINGERPRINT, QUICK, MadeRun, failed, histogram, made_run

TABLE = """row,connections,rate_per_s,precision,source
"Go, gin",100,200,1,page
"Go, echo",100,300,1,page
"Go, gin",10,90,1,page
"Go, echo",10,,1,page
"""


def test_loads_a_whole_run(run: MadeRun) -> None:
    run.contender("null-server", role="control")
    run.race({"a": 9000, "b": 6000}, invocations=2, blocks=3, levels=(10, 100))
    run.end()
    view = run.view()
    assert (view.state, view.seed, view.aggregate) == ("complete", 7, "median")
    assert view.levels == (100, 10)  # the protocol's first, then what else was measured
    assert [contender.name for contender in view.contenders] == ["a", "b"]
    assert [contender.name for contender in view.controls] == ["null-server"]
    assert [host.role for host in view.hosts] == ["server", "load"]
    assert len(view.contenders[0].cells[10].trials) == 6
    assert len(view.contenders[0].starts) == 2
    assert view.trials == 24


def test_figures_come_from_valid_trials(run: MadeRun) -> None:
    run.contender("a")
    run.trial("a", 100.0, server_cpu_us_per_request=10.0, memory_peak_bytes=5)
    run.trial("a", 300.0, server_cpu_us_per_request=20.0, memory_peak_bytes=7)
    run.trial("a", 999.0, gates=failed(), errors={"reset": 3}, memory_peak_bytes=9)
    run.trial(
        "a",
        None,
        state="failed",
        reason="it died",
        memory_peak_bytes=None,
        histograms={},
        errors={"reset": 4},
    )
    cell = run.view().contenders[0].cells[100]
    assert cell.rate_per_s("median") == 200
    assert cell.rate_per_s("best") == 300
    assert cell.spread_per_s == (100, 300)
    assert cell.server_cpu_us_per_request == 15
    assert cell.memory_peak_bytes == 9
    assert cell.errors == {"reset": 7}
    assert cell.service.requests == 12000
    assert not cell.doubtful


def test_a_trial_without_one_answered_request_is_not_measured(run: MadeRun) -> None:
    run.contender("a")
    run.trial("a", 0.0, requests_ok=0, histograms={})
    cell = run.view().contenders[0].cells[100]
    assert cell.rate_per_s("median") is None
    assert cell.spread_per_s is None


def test_a_foreign_generators_figures_are_medians_over_trials(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    run.contender("a")
    for p50 in (1000.0, 3000.0, 2000.0):
        run.trial("a", 100.0, histograms={}, result={"service_us": {"p50": p50, "p99": None}})
    service = run.view().contenders[0].cells[100].service
    assert (service["p50"], service["p99"], service.merged) == (2000, None, False)


def test_separates_offered_rates_from_the_race(run: MadeRun) -> None:
    run.race({"a": 9000}, invocations=1, blocks=1)
    for block in (1, 2):
        run.trial(
            "a",
            4990.0,
            kind="latency",
            block=block,
            offered_rate_per_s=5000.0,
            requests_ok=2495,
            histograms={"response_us": histogram(2495)},
        )
    view = run.view()
    assert len(view.contenders[0].cells[100].trials) == 1
    (cell,) = view.contenders[0].offered
    assert cell.achieved_rate_per_s == pytest.approx(4990)
    assert (cell.kind, len(cell.trials), cell.trials_valid) == ("latency", 2, 2)
    assert cell.response.requests == 4990


def test_loads_the_newest_calibration_of_a_similar_machine(run: MadeRun) -> None:
    key = host_key(FINGERPRINT)
    run.store.add_calibration(key, FINGERPRINT, {"null_pairs": 100})
    run.store.add_calibration(key, FINGERPRINT, {"null_pairs": 200})
    run.store.add_calibration("another machine", FINGERPRINT, {"null_pairs": 300})
    calibration = run.view().calibration
    assert calibration is not None
    assert calibration.result.as_stored() == {"null_pairs": 200}


def test_a_run_is_read_while_another_connection_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    run = made_run(path)
    run.race({"a": 9000, "b": 6000}, invocations=1, blocks=2)
    with Store(path, read_only=True) as reader:
        before = load_view(reader, run.run_id)
        run.trial("a", 9000.0, block=3, at_s=12.5)
        after = load_view(reader, run.run_id)
    assert (before.state, before.trials, after.trials) == ("running", 4, 5)
    assert after.elapsed_s == 12.5


def test_an_unknown_run_is_named(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "runs.sqlite") as store,
        pytest.raises(StoreError, match="no run nothing"),
    ):
        load_view(store, "nothing")


def test_rejects_a_broken_histogram(run: MadeRun) -> None:
    run.contender("a")
    run.trial("a", 100.0, histograms={"service_us": "no histogram"})
    with pytest.raises(StoreError, match="histogram cannot be read"):
        run.view()


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "made-2018.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr(published, "shipped_root", lambda: tmp_path)
    published._figures.cache_clear()


def test_each_level_has_its_own_rank() -> None:
    stored = StoredClaim(protocol="made-2018", row="Go, gin", differs=("newer",))
    (row,) = published.published_rows([stored])
    assert row.setting == "default"
    assert [(rate.connections, rate.rank, rate.rows) for rate in row.rates] == [
        (10, 1, 1),
        (100, 2, 2),
    ]


def test_leaves_out_a_row_without_published_figures() -> None:
    claims = [
        StoredClaim(protocol="made-2018", row="Go, chi"),
        StoredClaim(protocol="unknown-1999", row="Go, gin"),
    ]
    assert published.published_rows(claims) == ()
    assert published.published_rows([]) == ()


@pytest.mark.parametrize("name", ["../published/made-2018", "made-2018.csv", "a" * 300, "a\0"])
def test_bug_the_comparison_of_a_foreign_claim_was_read_as_a_path(name: str) -> None:
    claims = [StoredClaim(protocol=name, row="Go, gin")]
    assert published.published_rows(claims) == ()
