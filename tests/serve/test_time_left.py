"""The time that a run under way still takes, from its stored trials."""

from pathlib import Path

from deadheat.serve.live import time_left
from deadheat.store.listing import run_progress
from tests.report.made import QUICK, SETTLE, MadeRun, made_run


def left(run: MadeRun) -> str | None:
    return time_left(run_progress(run.store, run.run_id))


def test_a_race_with_a_budget_ends_with_it_at_the_latest(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.contender("alpha")
    assert left(run) is None
    run.trial("alpha", 9000.0, at_s=60.0)
    assert left(run) == "at most 4 min"
    run.trial("alpha", 9000.0, at_s=301.0, block=2)
    assert left(run) == "at most 1 s"


def test_repetitions_take_in_proportion_to_those_done(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    for name in ("alpha", "beta"):
        run.contender(name)
    run.trial("alpha", 9000.0, at_s=1.0)
    run.trial("beta", 9000.0, at_s=10.0)
    assert left(run) == "about 20 s"  # 2 of 6 trials took 10 s
