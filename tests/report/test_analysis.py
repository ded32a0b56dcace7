"""Which contenders rank, why the others do not, and what is known of these.

A dead heat needs intervals: contenders without one have no rank, in every format. An interval that
is too wide to draw is shown as unknown: it once disappeared from the row.
"""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from deadheat import report
from deadheat.numbers import is_known
from deadheat.report.findings.analysis import (
    Analysis,
    AtLeast,
    analyze,
    at_least,
    ranking_at,
)
from deadheat.report.findings.conclusion import answer, conclusions
from deadheat.report.findings.points import points
from deadheat.report.findings.versus import versus
from deadheat.report.model.view import RunView
from deadheat.report.picture.bars import draw_bars
from deadheat.stats.ranking.ranks import Ranking
from deadheat.store import Gate
from tests.report.made import QUICK, MadeRun, failed, made_run
from tests.report.sliced import SLICED, add_slices

BUSY = failed("client_cpu", 0.93)
RATES = {"fasthttp": 118_466.0, "hyper": 120_000.0, "express": 60_000.0, "flask": 5302.0}


def analyzed(run: MadeRun) -> Analysis:
    return analyze(run.view())


def ranking_of(run: MadeRun) -> Ranking:
    ranking = analyzed(run).main.ranking
    assert ranking is not None
    return ranking


def test_ranks_each_level_on_its_own(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol={**QUICK, "connections": [10, 100]})
    run.race({"a": 9000, "b": 3000}, levels=(100,))
    run.race({"a": 3000, "b": 9000}, levels=(10,))
    analysis = analyzed(run)
    assert [level.connections for level in analysis.levels] == [10, 100]
    assert [[s.name for s in level.standings] for level in analysis.levels] == [
        ["b", "a"],
        ["a", "b"],
    ]
    assert analysis.main.connections == 100


def test_separated_contenders_have_ranks_and_equal_ones_share_a_group(run: MadeRun) -> None:
    run.contender("null-server", role="control")
    run.race({"null-server": 90000, "a": 9000, "b": 9000, "c": 3000})
    rows = [standing.row for standing in analyzed(run).main.standings]
    assert [(row.rank_low, row.rank_high, row.group) for row in rows if row] == [
        (1, 2, 1),
        (1, 2, 1),
        (3, 3, 2),
    ]


def test_a_trial_that_failed_a_gate_does_not_rank(run: MadeRun) -> None:
    run.race({"a": 9000, "b": 8000})
    before = ranking_of(run)
    run.trial("b", 1.0, invocation=1, block=1, gates=failed())
    after = ranking_of(run)
    assert after.rows[0].ratio_to_leader == before.rows[0].ratio_to_leader
    assert after.pairs[0].ratio.ratio == before.pairs[0].ratio.ratio


def test_says_why_a_contender_has_no_rank(run: MadeRun) -> None:
    run.race({"a": 9000, "b": 8000}, blocks=4)
    for name in ("few", "failed"):
        run.contender(name)
    run.contender("absent", fault="no toolchain")
    for invocation in (1, 2, 3):
        run.trial("few", 9500.0, invocation=invocation, block=1)
        run.trial("few", 9500.0, invocation=invocation, block=2, gates=failed())
    run.trial("failed", None, state="failed", reason="died")
    assert {each.name: each.reason for each in analyzed(run).main.standings} == {
        "a": None,
        "b": None,
        "few": "only 3 of 12 blocks have a valid trial of it",
        "failed": "its trial is not valid",
        "absent": "not measured at this level",
    }


def test_one_start_gives_an_order_of_medians_and_no_rank(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    run.race({"a": 3000, "b": 9000}, invocations=1, blocks=3)
    level = analyzed(run).main
    assert level.ranking is None
    assert [standing.name for standing in level.standings] == ["b", "a"]
    assert not level.ranked
    assert "for an interval" in (level.standings[0].reason or "")


def test_a_look_with_part_of_the_error_widens_the_intervals(run: MadeRun) -> None:
    run.race({"a": 9000, "b": 8000})
    whole = ranking_of(run)
    run.end(share=0.2)
    assert ranking_of(run).pairs[0].ratio.low < whole.pairs[0].ratio.low


def test_ranks_nothing_before_the_first_trial(run: MadeRun) -> None:
    run.contender("a")
    analysis = analyzed(run)
    assert analysis.blocks == 0
    assert analysis.main.ranking is None


@pytest.mark.parametrize(
    ("rate_per_s", "gates", "beaten"),
    [
        (15000, BUSY, ("middle", "slow")),
        (6000, BUSY, ("slow",)),
        (15000, (*BUSY, *failed("steal")), None),
    ],
)
def test_a_client_limited_rate_is_a_lower_bound(
    run: MadeRun, rate_per_s: float, gates: Sequence[Gate], beaten: tuple[str, ...] | None
) -> None:
    rates = {"fast": rate_per_s, "middle": 9000, "slow": 3000}
    run.race(rates, blocks=12, gates_of={"fast": gates})
    view = run.ended()
    analysis = analyze(view)
    assert [each.name for each in analysis.main.ranked] == ["middle", "slow"]
    bounds = at_least(view, analysis.main)
    assert [(bound.contender.name, bound.beaten) for bound in bounds] == (
        [("fast", beaten)] if beaten else []
    )
    for bound in bounds:
        assert 1 < bound.ratio_low < rate_per_s / rates[bound.beaten[0]]
    texts = [item.text for item in conclusions(view, analysis) if item.topic == "lower bound"]
    assert len(texts) == len(bounds)


def test_bug_lower_bounds_spent_the_error_beside_the_ranks(run: MadeRun) -> None:
    """Ranks and bounds each spent 5 %; the pairs of both now share it."""
    run.race({"fast": 15000, "middle": 9000, "slow": 3000}, gates_of={"fast": BUSY})
    ranking, every = ranking_of(run), ranking_at(run.view(), 100, with_limited=True)
    assert every is not None
    assert (len(ranking.pairs), len(every.pairs)) == (1, 3)
    assert ranking.level.alpha == pytest.approx(every.level.alpha)


def test_no_bounds_without_a_ranking(run: MadeRun) -> None:
    """Regression: a traceback if a busy machine failed a gate in the second of two heats."""
    controls = {"null-server": 50_000, "reference": 12_000}
    for name in controls:
        run.contender(name, role="control")
    run.race(controls | {"slow": 3000}, invocations=1, blocks=2, heat=1)
    run.race(controls | {"fast": 9000}, invocations=1, blocks=2, heat=2, gates_of={"fast": BUSY})
    view = run.ended()
    assert at_least(view, analyze(view).main) == ()


def test_finds_bounds_without_a_measured_control(run: MadeRun) -> None:
    """Regression: a traceback."""
    run.contender("reference", role="control", fault="it did not start")
    gates = {"fast": BUSY}
    run.race({"fast": 15000, "slow": 3000}, blocks=12, gates_of=gates)
    run.race({"middle": 9000}, blocks=12)
    view = run.ended()
    (bound,) = at_least(view, analyze(view).main)
    assert bound.beaten == ("middle", "slow")


@pytest.mark.parametrize(
    ("ratio_low", "sentence", "point"),
    [
        (1.0004, "fast is faster than slow: ", "the client limited its rate"),
        (1.25, "fast is at least 25.0 % faster than slow: ", "+25.0 % or more; the client"),
    ],
)
def test_a_bound_of_0_0_percent_is_not_printed(
    run: MadeRun, ratio_low: float, sentence: str, point: str
) -> None:
    """Regression: "faster by 0.0 % or more"."""
    run.race({"slow": 3000, "slower": 1000})
    run.contender("fast")
    view = run.ended()
    analysis = analyze(view)
    fast = next(contender for contender in view.contenders if contender.name == "fast")
    analysis.main.kept.once("at_least", lambda: (AtLeast(fast, ("slow",), ratio_low),))
    (text,) = [each.text for each in conclusions(view, analysis) if each.topic == "lower bound"]
    assert text.startswith(sentence)
    all_points = points(view, analysis, view.run_id)
    (figures,) = [each.figures for each in all_points if each.text == "fast > slow"]
    assert figures.startswith(point)


def noisy_race(path: Path, valid_blocks: dict[str, int]) -> RunView:
    """Two instances of each, which differ by a third."""
    run = made_run(path / "runs.sqlite", protocol=SLICED)
    add_slices(run, RATES, apart=0.15, valid_blocks=valid_blocks)
    return run.ended(why="budget spent")


def test_bug_a_noisy_race_without_an_interval_was_a_dead_heat(tmp_path: Path) -> None:
    """Printed: `All 14 are in a dead heat`, at 118,466 and 5,302 requests/s."""
    view = noisy_race(tmp_path, dict.fromkeys(RATES, 1))
    analysis = analyze(view)
    headline = "No ranking: 4 of 32 trials are valid, 28 failed the check steal"
    assert answer(view, analysis.main) == headline
    assert not analysis.main.ranked
    (open_point,) = [p for p in points(view, analysis, view.run_id) if p.topic == "OPEN"]
    assert "4 of 32 trials are valid, 28 failed the check steal" in open_point.text
    assert open_point.command.endswith("--budget 10m --wait-quiet")
    assert versus(analysis.main, "hyper", "flask").brief == "no verdict"
    (level,) = json.loads(report.write(view, "json"))["levels"]
    assert {standing["group"] for standing in level["standings"]} == {None}


@pytest.mark.parametrize("blocks", [1, 8])
def test_all_that_are_ranked_have_known_intervals(tmp_path: Path, blocks: int) -> None:
    level = analyze(noisy_race(tmp_path, dict.fromkeys(RATES, 8) | {"flask": blocks})).main
    assert level.ranking is not None
    for pair in level.ranking.pairs:
        assert is_known(pair.ratio.low, pair.ratio.high)
    assert [each.name for each in level.standings if "interval" in (each.reason or "")] == (
        ["flask"] if blocks == 1 else []
    )


def with_wide_interval(folder: Path, low: float, high: float) -> tuple[RunView, Analysis]:
    """A race of two whose second row has this interval."""
    run = made_run(folder / "runs.sqlite")
    run.race({"a": 1000, "b": 800})
    view = run.ended()
    analysis = analyze(view)
    first, second = analysis.main.standings
    assert second.row is not None
    ratio = dataclasses.replace(second.row.ratio_to_leader, low=low, high=high)
    second = dataclasses.replace(second, row=dataclasses.replace(second.row, ratio_to_leader=ratio))
    level = dataclasses.replace(analysis.main, standings=(first, second))
    return view, dataclasses.replace(analysis, levels=(level,))


def test_a_picture_lets_the_whisker_of_an_unknown_interval_fade_out(tmp_path: Path) -> None:
    view, analysis = with_wide_interval(tmp_path, 0.05, 16.0)
    picture = draw_bars(view, analysis)
    assert picture is not None
    assert picture.count("stroke-opacity") > 8
    assert "a fading line: unknown" in picture
    narrow = draw_bars(view, analyze(view))
    assert narrow is not None
    assert "stroke-opacity" not in narrow


def test_bug_three_of_four_valid_trials_were_a_reason_for_no_rank(tmp_path: Path) -> None:
    """The interval was too wide, and the reason named the trials alone."""
    run = made_run(tmp_path / "runs.sqlite", protocol=SLICED)
    add_slices(run, {"even": 1000.0, "late": 990.0, "steady": 980.0}, valid_blocks={"late": 1})
    add_slices(run, {"wild": 900.0}, apart=0.9, valid_blocks={"wild": 5})
    view = run.ended(why="budget spent")
    assert {each.name: each.reason for each in analyze(view).main.standings} == {
        "even": "its interval is too wide after 2 starts",
        "steady": "its interval is too wide after 2 starts",
        "late": "its interval is unknown after 1 start (1 of 8 trials are valid)",
        "wild": "its interval is too wide after 2 starts (5 of 8 trials are valid)",
    }
