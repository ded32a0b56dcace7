"""An audit beside its report, and what the published pages state."""

import csv
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deadheat.audit.audit import fold, mean_busy, with_defects
from deadheat.audit.replay import load_replay
from deadheat.audit.sections import heading
from deadheat.catalog import layers
from deadheat.report import RunView, load_view
from deadheat.report.formats.markdown import escape
from deadheat.report.model.runs import find_run
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids
from tests.audit.made import contender, protocol, replay, trial

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def view_of(name: str) -> RunView:
    with open_bundle(RESULTS / f"{name}.deadheat") as store:
        return with_defects(store, load_view(store, find_run(store, None)))


def test_a_replay_has_the_defects_of_its_audit() -> None:
    defects = view_of("woo-2016").defects
    assert defects
    audited = (RESULTS / "woo-2016.md").read_text().lower()
    assert all(escape(defect.title).lower() in audited for defect in defects)


def test_a_run_that_repeats_nothing_has_none() -> None:
    assert view_of("make-run").defects is None


def test_a_replay_without_its_published_figures_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "servers").mkdir()
    monkeypatch.setenv("DEADHEAT_CATALOG", str(tmp_path))
    monkeypatch.setattr(layers, "shipped_root", lambda: None)
    assert view_of("woo-2016").defects is None


def test_bug_an_own_catalog_had_the_published_figures_without_their_repetitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defects that only single repetitions show were missing: these came from one layer alone."""
    defects = view_of("landshark-2009").defects
    (tmp_path / "servers").mkdir()
    monkeypatch.setenv("DEADHEAT_CATALOG", str(tmp_path))
    assert view_of("landshark-2009").defects == defects


def test_a_decay_study_has_its_recoveries() -> None:
    tomcat, fapws = view_of("decay").contenders
    assert [len(each.recoveries) for each in (tomcat, fapws)] == [8, 8]
    assert fapws.recoveries[6].recovered_after_s == pytest.approx(11.3, abs=0.1)


def test_the_heading_says_how_long_trials_were_and_which_levels_have_no_result() -> None:
    trials = [trial(9000.0), trial(None, connections=1000), trial(None, connections=20_000)]
    rules = protocol(connections=[100, 1000, 20_000], duration_s=1.0, duration_scale=0.1)
    lines = heading(replay([contender("a", [], trials=tuple(trials))], protocol=rules))
    assert "trials of 1 s, 0.1 of the published length" in lines
    assert "no result at 1,000 and 20,000 connections" in lines
    whole = heading(replay([contender("a", [9000.0])]))
    assert "trials of 10 s" in whole
    assert not any("no result" in line for line in whole)


REPLAYS = sorted([*RESULTS.glob("*-20??*.deadheat"), RESULTS / "decay.deadheat"])


@pytest.mark.parametrize("bundle", REPLAYS, ids=lambda path: path.stem)
def test_bug_audits_divided_by_rounded_seconds(bundle: Path) -> None:
    """wrk printed 176,905 requests/s, and the audit said 177,747."""
    with open_bundle(bundle) as store:
        (run_id,) = run_ids(store)
        view = load_view(store, run_id)
        replay = load_replay(store, run_id)
    shown = {each.name: each for each in view.contenders}
    compared = 0
    for each in replay.contenders:
        for connections in replay.protocol.connections:
            audited = each.rates_at(connections)
            cell = shown[each.name].cells.get(connections)
            trials = [trial for trial in cell.trials if trial.measured] if cell else []
            if len(trials) != len(audited) or any(trial.errors for trial in trials):
                continue  # a report leaves failed requests out
            assert audited == pytest.approx([trial.rate_per_s for trial in trials], rel=1e-9)
            compared += len(audited)
    assert compared > 0


REPOSITORY = Path(__file__).parents[2]
with (REPOSITORY / "docs" / "replays-settings.csv").open(newline="") as file:
    ROWS = [*csv.DictReader(file)]


def value_at(document: Any, key: str) -> Any:
    """`published ROW` is what differs in that row; `origin.sysctl NAME` a name with dots."""
    if key.startswith("published "):
        (row,) = [each for each in document["published"] if each["row"] == key[10:]]
        return row["differs"]
    path, _, name = key.partition("sysctl ")
    for part in [*path.split("."), *([] if not name else ["sysctl", name])]:
        document = document[part] if part else document
    return document


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['page']}: {row['quoted']}")
def test_what_a_page_states_is_a_setting_or_a_stated_difference(row: dict[str, str]) -> None:
    text = (REPOSITORY / row["file"]).read_text("utf-8")
    value = value_at(tomllib.loads(text), row["key"]) if row["key"] else text
    if isinstance(value, list) and not isinstance(value[0], int):
        assert any(row["holds"] in str(each) for each in value)
    elif isinstance(value, str) and not value.isdigit():
        assert row["holds"] in value
    else:
        assert row["holds"] == str(value)


def test_every_comparison_is_walked() -> None:
    assert {row["page"] for row in ROWS} == {"kzmake-2018", "woo-2016", "landshark-2009"}


def sample(at_s: float, busy_ticks: int, idle_ticks: int, memory: int = 1000) -> dict[str, Any]:
    ticks = [busy_ticks, 0, 0, idle_ticks, 0, 0, 0, 0]
    return {
        "at_s": at_s,
        "cpu_ticks": {"0": ticks},
        "usage": {"1": {"memory_bytes": memory}},
        "memory_available_bytes": 5000,
    }


def test_folds_samples_to_seconds() -> None:
    quarters = [sample(10 + n / 4, 20 * n, 5 * n) for n in range(11)]  # 2.5 s, four fifths busy
    seconds = fold(quarters)
    assert [second.at_s for second in seconds] == [1.0, 2.0, 2.5]
    assert [second.busy[0] for second in seconds] == [pytest.approx(0.8)] * 3
    assert seconds[0].memory_bytes == 1000
    assert mean_busy(seconds) == {0: pytest.approx(0.8)}


def test_a_trial_without_samples_has_no_seconds() -> None:
    assert fold([]) == ()
    assert fold([sample(1, 0, 0)]) == ()
    assert mean_busy(()) == {}
