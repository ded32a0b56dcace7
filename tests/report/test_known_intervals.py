"""A dead heat needs intervals: contenders without one have no rank, in every format."""

import json
from pathlib import Path

import pytest

from deadheat import report
from deadheat.numbers import is_known
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.headline import answer
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.points import points
from deadheat.report.findings.versus import versus
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.site.entry import entry_of
from deadheat.stats.known_interval import dead_heats
from tests.report.made import made_run
from tests.report.sliced import SLICED, sliced_race

RATES = {"fasthttp": 118_466.0, "hyper": 120_000.0, "express": 60_000.0, "flask": 5302.0}


def noisy_race(path: Path, valid_blocks: dict[str, int]) -> RunView:
    """Two instances of each, which differ by a third."""
    run = made_run(path / "runs.sqlite", protocol=SLICED)
    run_id = sliced_race(run, RATES, apart=0.15, valid_blocks=valid_blocks)
    return load_view(run.store, run_id, whole=True)


def test_bug_a_noisy_race_without_an_interval_was_a_dead_heat(tmp_path: Path) -> None:
    """Printed: `All 14 are in a dead heat`, at 118,466 and 5,302 requests/s."""
    view = noisy_race(tmp_path, dict.fromkeys(RATES, 1))
    analysis = analyze(view)
    headline = "No ranking: 4 of 32 trials are valid, 28 failed the check steal"
    assert answer(view, analysis.main) == headline
    assert not analysis.main.ranked
    (open_point,) = [p for p in points(view, analysis, Source.stored(view)) if p.topic == "OPEN"]
    assert "4 of 32 trials are valid, 28 failed the check steal" in open_point.text
    assert open_point.command.endswith("--budget 10m --wait-quiet")
    assert versus(analysis.main, "hyper", "flask").brief == "no verdict"
    assert entry_of(view, analysis).run.answer == f"{headline}."
    for format_ in ("terminal", "md", "json", "csv", "html"):
        text = report.write(view, format_)
        assert "in a dead heat" not in text
        if format_ != "csv":
            assert headline in text or format_ == "html"
    (level,) = json.loads(report.write(view, "json"))["levels"]
    assert {standing["group"] for standing in level["standings"]} == {None}


def test_those_with_an_interval_are_ranked_without_the_others(tmp_path: Path) -> None:
    view = noisy_race(tmp_path, {"fasthttp": 8, "hyper": 8, "express": 8, "flask": 1})
    level = analyze(view).main
    assert level.ranking is not None
    ranked = {standing.name for standing in level.ranked}
    assert "flask" not in ranked
    for pair in level.ranking.pairs:
        assert is_known(pair.ratio.low, pair.ratio.high)
    (unranked,) = [standing for standing in level.standings if standing.name == "flask"]
    assert unranked.reason is not None
    assert "interval" in unranked.reason


@pytest.mark.parametrize("blocks", [1, 8])
def test_every_dead_heat_has_known_intervals(tmp_path: Path, blocks: int) -> None:
    level = analyze(noisy_race(tmp_path, dict.fromkeys(RATES, blocks))).main
    for names in dead_heats(level.ranking) if level.ranking else ():
        for name in names[1:]:
            assert level.ranking is not None
            ratio = level.ranking.pair(names[0], name).ratio
            assert is_known(ratio.low, ratio.high)
