"""A dead heat needs intervals: contenders without one have no rank, in every format."""

import json
from pathlib import Path

import pytest

from deadheat import report
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.headline import answer
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.points import points
from deadheat.report.findings.versus import versus
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.site.entry import entry_of
from deadheat.stats.known_interval import dead_heats, is_known
from tests.report.made import MadeRun, failed, made_run

SLICED = {
    "name": "settle",
    "connections": [100],
    "duration_s": 0.08,
    "generator": "engine",
    "slices": {"rounds": 4},
    "stopping": {"kind": "settle", "budget_s": 60, "margin": 0.03, "confidence": 0.95},
}
RATES = {"fasthttp": 118_466.0, "hyper": 120_000.0, "express": 60_000.0, "flask": 5302.0}


def sliced_trial(
    run: MadeRun, name: str, instance: int, block: int, factor: float, valid: bool
) -> None:
    """A trial of four slices; a failed one failed `steal`."""
    rows = [
        {
            "at_s": 10.0 * block + number,
            "round": 4 * (block - 1) + number,
            "rate_per_s": RATES[name] * factor * (1 + 0.01 * number),
            "requests_ok": 1000,
            "elapsed_s": 0.08,
        }
        for number in range(1, 5)
    ]
    run.trial(
        name,
        RATES[name] * factor,
        block=block,
        instance_id=instance,
        invocation=1 + instance % 2,
        series={"slices": rows},
        gates=() if valid else failed("steal"),
    )


def noisy_race(path: Path, valid_blocks: dict[str, int]) -> RunView:
    """Eight blocks of two instances each, which differ by a third; the first ones are valid."""
    run = made_run(path / "runs.sqlite", protocol=SLICED)
    for name in RATES:
        run.contender(name)
    starts = {name: [run.start(name, number) for number in (1, 2)] for name in RATES}
    for block in range(1, 9):
        for name in RATES:
            factor = (1.15, 0.85)[block % 2]
            instance = starts[name][block % 2]
            sliced_trial(run, name, instance, block, factor, block <= valid_blocks[name])
    return load_view(run.store, run.end(why="budget spent"), whole=True)


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
        assert "dead heat of" not in text.replace("`dead heat of ${number}`", "")
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
