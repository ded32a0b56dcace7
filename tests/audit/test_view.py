"""Reports of replays have the defects that their audit finds."""

from pathlib import Path

import pytest

from deadheat.audit.audit import with_defects
from deadheat.audit.sections import heading
from deadheat.catalog import layers
from deadheat.report import RunView, load_view
from deadheat.report.formats.markdown import escape
from deadheat.report.model.runs import find_run
from deadheat.store.bundle import open_bundle
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
