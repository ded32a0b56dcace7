"""A link that is cut while a run measures: for a moment, for longer, for too long."""

import signal
import subprocess
import time
from pathlib import Path

from deadheat.cli.execution import await_link
from deadheat.host.ssh import SILENCE_S
from deadheat.store import Conclusion, Store, StoredRun, read_run
from deadheat.store.listing import RunSummary, run_argument
from tests.host.support import eventually
from tests.hosts.bed import Bed
from tests.hosts.greeting import started, summaries

MOMENT_S = 1.5  # less than ssh and the agent bear
BACK_S = 60.0  # for the run to go on


def summary(path: Path) -> RunSummary | None:
    """Of the only run of a store; None before it begins."""
    return next(iter(summaries(path)), None)


def stored_run(path: Path) -> StoredRun:
    begun = summary(path)
    assert begun is not None
    with Store(path, read_only=True) as store:
        return read_run(store, begun.run_id)


def trials(path: Path) -> list[int]:
    return [trial.id for trial in stored_run(path).trials]


def await_more_trials(path: Path, process: "subprocess.Popen[str]") -> None:
    """Fails with what the process printed if it ends before."""

    def count() -> int:
        begun = summary(path)
        return begun.trials if begun else 0

    def measures_on() -> bool:
        assert process.poll() is None, process.communicate()[1]
        return count() > before

    before = count()
    eventually(measures_on, within_s=BACK_S)


def end(process: "subprocess.Popen[str]") -> str:
    """Interrupt it; returns what it printed to standard error."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1]


def test_a_run_goes_on_when_the_link_is_back(bed: Bed, catalog: Path) -> None:
    path = catalog / "runs.sqlite"
    process = started(bed, catalog, "greeting", "--protocol", "sliced")
    try:
        await_more_trials(path, process)
        bed.cut()
        time.sleep(MOMENT_S)
        bed.mend()
        await_more_trials(path, process)
        run = stored_run(path)
        assert (run.state, run.conclusion.changed(folder=None)) == ("running", Conclusion()), (
            "a moment does not end it"
        )
        bed.cut()
        eventually(lambda: bed.left() == [], within_s=30)
        acknowledged = trials(path)
        eventually(lambda: stored_run(path).state == "failed", within_s=30)
        bed.mend()
        await_more_trials(path, process)
        err = end(process)
    finally:
        process.kill()
        bed.mend()
    assert "the connection was lost; the run goes on if it is back within 10 min" in err
    run = stored_run(path)
    assert run.state == "interrupted"
    assert set(acknowledged) <= set(trials(path)), "no stored trial is lost"
    (resumption,) = run.conclusion.resumed
    assert resumption.trials >= len(acknowledged)
    eventually(lambda: bed.left() == [], within_s=10)


def test_a_run_whose_link_stayed_away_can_be_resumed(bed: Bed, catalog: Path) -> None:
    path = catalog / "runs.sqlite"
    process = started(bed, catalog, "greeting", "--protocol", "sliced", "--link-wait", "1s")
    try:
        await_more_trials(path, process)
        bed.cut()
        eventually(lambda: bed.left() == [], within_s=30)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        bed.mend()
    run = stored_run(path)
    assert run.state == "failed"
    acknowledged = trials(path)
    assert acknowledged
    assert "the connection was lost, and was not back within 1 s" in err
    assert f"deadheat resume {run_argument(run.id, path)}" in err
    resumed = started(bed, catalog, run.id, command="resume")
    try:
        await_more_trials(path, resumed)
        end(resumed)
    finally:
        resumed.kill()
    assert trials(path)[: len(acknowledged)] == acknowledged
    run = stored_run(path)
    assert run.state == "interrupted"
    (resumption,) = run.conclusion.resumed
    assert resumption.trials == len(acknowledged)


def test_a_link_is_tried_after_the_silence_and_until_the_time_is_over() -> None:
    pauses_s: list[float] = []
    answers = iter([False, True, True])
    assert await_link(["a", "b"], 600, lambda _: next(answers), pauses_s.append)
    assert pauses_s[0] == SILENCE_S, "the agent there may run until then"
    assert len(pauses_s) == 2
    assert not await_link(["a"], SILENCE_S - 1, lambda _: True, pauses_s.append)
