"""The lines above the tables."""

from pathlib import Path
from typing import Any

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.heading import heading
from deadheat.report.model.load import load_view
from deadheat.store import Store
from tests.report.made import QUICK, MadeRun

RESUMED = {"at": "2026-11-20T12:30:00+00:00", "trials": 4, "paused_s": 3600.0}


def heading_of(folder: Path, conclusion: dict[str, Any], **protocol: Any) -> str:
    """The heading of a run of three repetitions of two contenders."""
    with Store(folder / "runs.sqlite") as store:
        run = MadeRun(store, {**QUICK, **protocol})
        run.contender("a", label="Row A")
        run.contender("b", label="Row B")
        for block in (1, 2, 3):
            run.trial("a", 100.0, block=block)
            run.trial("b", 200.0, block=block)
        run.end(**conclusion)
        view = load_view(store, run.run_id)
    return "\n".join(heading(view, analyze(view)))


def test_heading_of_a_race_counts_blocks(tmp_path: Path) -> None:
    assert "6 trials of 1 s in 3 blocks over 1 fresh start" in heading_of(tmp_path, {})


def test_heading_of_a_replay_has_repetitions_and_restarts(tmp_path: Path) -> None:
    """Regression: the heading of a replay had blocks and fresh starts, and a replay has neither."""
    restarts = {"Row B": "repetition", "Row C": "level"}
    text = heading_of(tmp_path, {}, residency="alone", restarts=restarts)
    assert (
        "6 trials of 1 s, 3 repetitions of each, one contender after the other, "
        "one process for all; a process for each trial of Row B\n"
    ) in text
    assert "block" not in text


def test_heading_of_a_resumed_run_says_when(tmp_path: Path) -> None:
    text = heading_of(tmp_path, {"why": "all repetitions done", "resumed": [RESUMED]})
    assert "resumed 2026-11-20 12:30 UTC after 4 trials, with fresh processes" in text
    (tmp_path / "more").mkdir()
    extended = RESUMED | {"more_s": 420.0}
    text = heading_of(tmp_path / "more", {"why": "budget spent", "resumed": [extended]})
    assert "given 7 min more on 2026-11-20 12:30 UTC after 4 trials" in text


def test_bug_a_race_of_30_s_ended_after_two_minutes(tmp_path: Path) -> None:
    """The heading gave the time of the run, in which servers are built, beside the budget."""
    conclusion = {"why": "budget spent", "race_s": 29.6}
    assert "budget spent after 29.6 s" in heading_of(tmp_path, conclusion)
