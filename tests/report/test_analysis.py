"""Which contenders rank, and why the others do not."""

from pathlib import Path

from deadheat.report.findings.analysis import Analysis, analyze
from deadheat.report.model.load import load_view
from tests.report.made import QUICK, MadeRun, failed, made_run


def analyzed(run: MadeRun) -> Analysis:
    return analyze(load_view(run.store, run.run_id))


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


def test_separated_contenders_have_ranks_and_equal_ones_share_a_group(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 9000, "c": 3000})
    rows = [standing.row for standing in analyzed(run).main.standings]
    assert [(row.rank_low, row.rank_high, row.group) for row in rows if row] == [
        (1, 2, 1),
        (1, 2, 1),
        (3, 3, 2),
    ]


def test_a_trial_that_failed_a_gate_does_not_rank(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 8000})
    before = analyzed(run).main.ranking
    run.trial("b", 1.0, invocation=1, block=1, gates=failed())
    after = analyzed(run).main.ranking
    assert before is not None
    assert after is not None
    assert after.rows[0].ratio_to_leader == before.rows[0].ratio_to_leader
    assert after.pairs[0].ratio.ratio == before.pairs[0].ratio.ratio


def test_does_not_rank_a_contender_with_few_valid_blocks(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 8000}, blocks=4)
    run.contender("c")
    for invocation in (1, 2, 3):
        run.trial("c", 9500.0, invocation=invocation, block=1)
        run.trial("c", 9500.0, invocation=invocation, block=2, gates=failed())
    level = analyzed(run).main
    assert [standing.name for standing in level.standings] == ["a", "b", "c"]
    assert level.standings[2].row is None
    assert level.standings[2].reason == "only 3 of 12 blocks have a valid trial of it"


def test_reason_distinguishes_no_valid_trial_from_no_trial(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 8000}, blocks=4)
    run.contender("c")
    run.trial("c", None, state="failed", reason="died")
    run.contender("d", fault="no toolchain")
    reasons = {s.name: s.reason for s in analyzed(run).main.standings}
    assert reasons["c"] == "its trial is not valid"
    assert reasons["d"] == "not measured at this level"


def test_one_start_gives_an_order_of_medians_and_no_rank(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    run.race({"a": 3000, "b": 9000}, invocations=1, blocks=3)
    level = analyzed(run).main
    assert level.ranking is None
    assert [standing.name for standing in level.standings] == ["b", "a"]
    assert not level.ranked
    assert "for an interval" in (level.standings[0].reason or "")


def test_controls_do_not_rank(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("null-server", role="control")
    run.race({"null-server": 90000, "a": 9000, "b": 3000})
    assert [standing.name for standing in analyzed(run).main.standings] == ["a", "b"]


def test_a_look_with_part_of_the_error_widens_the_intervals(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000, "b": 8000})
    whole = analyzed(run).main.ranking
    run.end(share=0.2)
    part = analyzed(run).main.ranking
    assert whole is not None
    assert part is not None
    assert part.pairs[0].ratio.low < whole.pairs[0].ratio.low


def test_ranks_nothing_before_the_first_trial(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("a")
    analysis = analyzed(run)
    assert analysis.blocks == 0
    assert analysis.main.ranking is None
